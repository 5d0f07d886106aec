"""The promised import path of the SubagentManager."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "tasks", "nanobot.plugins.tasks.subagents")
