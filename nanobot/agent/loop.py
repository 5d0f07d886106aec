"""The promised import path of the AgentLoop. Runs are driven in `runner` and `worker`."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "library", "nanobot.plugins.library.agent_loop")
