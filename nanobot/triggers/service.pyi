from nanobot.plugins.common.jobs.service import CRON_SERVICE as CRON_SERVICE
from nanobot.plugins.common.jobs.service import JOB_STORE as JOB_STORE
from nanobot.plugins.common.jobs.service import Following as Following
from nanobot.plugins.common.jobs.service import Jobs as Jobs
from nanobot.plugins.common.jobs.service import JobService as JobService
