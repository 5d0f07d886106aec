"""What other packages add, looked at without a gateway."""

from __future__ import annotations

from typing import get_args

from nanobot.agent.tasks.types import installed
from nanobot.config.settings.agent import RunType
from nanobot.plugins import CHANNELS, PROVIDERS, TRIGGERS, BrokenPlugin, Plugins
from nanobot.tools.plugins import register_installed
from nanobot.tools.registry import ToolRegistry


def broken(plugins: Plugins | None = None) -> list[BrokenPlugin]:
    """What a gateway leaves out. The packages' code is loaded for it."""
    loader = plugins or Plugins()
    register_installed(ToolRegistry(), loader)
    installed(loader, get_args(RunType))
    loader.survey(CHANNELS, "a channel", own=False)
    loader.survey(PROVIDERS, "a provider")
    loader.survey(TRIGGERS, "a trigger")
    return loader.left_out
