from nanobot.plugins.library.api import Agent as Agent
from nanobot.plugins.library.api import AnyRunEvent as AnyRunEvent
from nanobot.plugins.library.api import RunEvent as RunEvent
from nanobot.plugins.library.api import RunInput as RunInput
from nanobot.plugins.library.api import RunLimits as RunLimits
from nanobot.plugins.library.api import RunResult as RunResult
from nanobot.plugins.library.api import ToolPolicy as ToolPolicy
