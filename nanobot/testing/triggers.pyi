from nanobot.plugins.kit.triggers import CHECKS as CHECKS
from nanobot.plugins.kit.triggers import MAX_TEXT as MAX_TEXT
from nanobot.plugins.kit.triggers import Check as Check
from nanobot.plugins.kit.triggers import RecordingPublisher as RecordingPublisher
from nanobot.plugins.kit.triggers import TriggerSource as TriggerSource
from nanobot.plugins.kit.triggers import (
    goes_on_when_it_is_not_taken as goes_on_when_it_is_not_taken,
)
from nanobot.plugins.kit.triggers import may_be_run_again as may_be_run_again
from nanobot.plugins.kit.triggers import (
    may_be_started_after_an_error as may_be_started_after_an_error,
)
from nanobot.plugins.kit.triggers import publishes_what_happens as publishes_what_happens
