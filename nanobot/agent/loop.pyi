from nanobot.plugins.library.agent_loop import AgentLoop as AgentLoop
from nanobot.plugins.library.agent_loop import CancelToken as CancelToken
