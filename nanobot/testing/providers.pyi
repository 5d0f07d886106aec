from nanobot.plugins.kit.providers import CHECKS as CHECKS
from nanobot.plugins.kit.providers import Check as Check
from nanobot.plugins.kit.providers import ModelUnderTest as ModelUnderTest
from nanobot.plugins.kit.providers import answers_side_by_side as answers_side_by_side
from nanobot.plugins.kit.providers import answers_whole as answers_whole
from nanobot.plugins.kit.providers import closes_unused as closes_unused
from nanobot.plugins.kit.providers import describes_its_models as describes_its_models
from nanobot.plugins.kit.providers import (
    fails_in_the_words_of_the_port as fails_in_the_words_of_the_port,
)
from nanobot.plugins.kit.providers import may_be_left_early as may_be_left_early
from nanobot.plugins.kit.providers import obeys_cancellation as obeys_cancellation
from nanobot.plugins.kit.providers import (
    streams_and_ends_with_one_completion as streams_and_ends_with_one_completion,
)
