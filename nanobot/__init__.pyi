# The public names, for type checkers and for __init__.py, one a line.
from nanobot.agent.library.subagents import SubagentManager as SubagentManager
from nanobot.api import Agent as Agent
from nanobot.bus.queue import MessageBus as MessageBus
from nanobot.errors import RunFailed as RunFailed
from nanobot.errors import ToolError as ToolError
from nanobot.messages import Address as Address
from nanobot.messages import EventKind as EventKind
from nanobot.messages import InboundMessage as InboundMessage
from nanobot.messages import OutboundMessage as OutboundMessage
from nanobot.messages import RunEvent as RunEvent
from nanobot.messages import Sender as Sender
from nanobot.plugins.common.runs.run_input import RunInput as RunInput
from nanobot.plugins.common.runs.run_input import RunLimits as RunLimits
from nanobot.plugins.common.runs.run_input import RunResult as RunResult
from nanobot.plugins.common.runs.run_input import ToolPolicy as ToolPolicy
from nanobot.plugins.library.agent_loop import AgentLoop as AgentLoop
from nanobot.plugins.library.agent_loop import CancelToken as CancelToken
from nanobot.plugins.library.context_builder import ContextBuilder as ContextBuilder
from nanobot.plugins.library.function import tool as tool
from nanobot.plugins.library.persona import MemoryStore as MemoryStore
from nanobot.plugins.library.persona import PersonaConfig as PersonaConfig
from nanobot.plugins.library.sessions import SessionManager as SessionManager
from nanobot.providers.base import LLMProvider as LLMProvider
from nanobot.providers.litellm_provider import LiteLLMProvider as LiteLLMProvider
from nanobot.tools.base import Effect as Effect
from nanobot.tools.base import Tool as Tool
from nanobot.tools.registry import ToolRegistry as ToolRegistry

__version__: str
