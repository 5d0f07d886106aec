"""The public import path of the AgentLoop. Runs are driven in `runner` and `worker`."""

from nanobot.agent.library.agent_loop import AgentLoop, CancelToken

__all__ = ["AgentLoop", "CancelToken"]
