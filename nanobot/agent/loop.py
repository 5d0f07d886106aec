"""The promised import path of the AgentLoop. What runs do is in `runner` and `worker`."""

from nanobot.agent.library.agent_loop import AgentLoop, CancelToken

__all__ = ["AgentLoop", "CancelToken"]
