from nanobot.messages import RunEvent as RunEvent
from nanobot.plugins.common.runs.run_input import RunInput as RunInput
from nanobot.plugins.common.runs.run_input import RunLimits as RunLimits
from nanobot.plugins.common.runs.run_input import RunResult as RunResult
from nanobot.plugins.common.runs.run_input import ToolPolicy as ToolPolicy
from nanobot.plugins.library.api import Agent as Agent
from nanobot.plugins.library.events import AnyRunEvent as AnyRunEvent
