from nanobot.plugins.common.jobs.triggers import Publisher as Publisher
from nanobot.plugins.common.jobs.triggers import Taken as Taken
from nanobot.plugins.common.jobs.triggers import Trigger as Trigger
from nanobot.plugins.common.jobs.triggers import Triggers as Triggers
from nanobot.plugins.common.jobs.triggers import Watching as Watching
