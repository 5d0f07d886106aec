"""What other packages add, looked at without a gateway."""

from __future__ import annotations

from typing import get_args

from nanobot.agent.tasks.types import installed
from nanobot.channels import loading as adapters
from nanobot.config.settings.agent import RunType
from nanobot.plugins import BrokenPlugin, Plugins
from nanobot.providers import plugins as plugged
from nanobot.tools.plugins import register_installed
from nanobot.tools.registry import ToolRegistry
from nanobot.triggers import plugins as triggers


def broken(plugins: Plugins | None = None) -> list[BrokenPlugin]:
    """What a gateway leaves out. The packages' code is loaded for it."""
    loader = plugins or Plugins()
    register_installed(ToolRegistry(), loader)
    installed(loader, get_args(RunType))
    adapters.survey(loader)
    plugged.survey(loader)
    triggers.survey(loader)
    return loader.left_out
