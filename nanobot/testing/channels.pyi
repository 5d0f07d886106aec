from nanobot.plugins.kit.channels import CHECKS as CHECKS
from nanobot.plugins.kit.channels import Check as Check
from nanobot.plugins.kit.channels import Platform as Platform
from nanobot.plugins.kit.channels import (
    acknowledges_only_what_was_admitted as acknowledges_only_what_was_admitted,
)
from nanobot.plugins.kit.channels import (
    brings_again_what_was_not_taken as brings_again_what_was_not_taken,
)
from nanobot.plugins.kit.channels import brings_what_was_said as brings_what_was_said
from nanobot.plugins.kit.channels import confides_only_among_several as confides_only_among_several
from nanobot.plugins.kit.channels import deletes_its_messages as deletes_its_messages
from nanobot.plugins.kit.channels import (
    fails_in_the_words_of_the_port as fails_in_the_words_of_the_port,
)
from nanobot.plugins.kit.channels import (
    goes_on_after_what_it_cannot_read as goes_on_after_what_it_cannot_read,
)
from nanobot.plugins.kit.channels import grows_into_the_answer as grows_into_the_answer
from nanobot.plugins.kit.channels import may_be_run_again as may_be_run_again
from nanobot.plugins.kit.channels import renders_whole_texts as renders_whole_texts
from nanobot.plugins.kit.channels import sends_parts_in_order as sends_parts_in_order
from nanobot.plugins.kit.channels import (
    shows_drafts_that_are_no_messages as shows_drafts_that_are_no_messages,
)
from nanobot.plugins.kit.channels import shows_files_together as shows_files_together
from nanobot.plugins.kit.channels import (
    takes_only_requests_of_its_platform as takes_only_requests_of_its_platform,
)
from nanobot.plugins.kit.channels import tells_messages_apart as tells_messages_apart
