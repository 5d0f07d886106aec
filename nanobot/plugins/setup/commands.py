"""All commands of the plugin."""

from __future__ import annotations

from nanobot.plugins.common.faces import Command
from nanobot.plugins.setup.doctor import commands as doctor
from nanobot.plugins.setup.onboard import commands as onboard
from nanobot.plugins.setup.service import commands as service


def commands() -> list[Command]:
    """Those of the command line."""
    return [*doctor.commands(), *service.commands(), *onboard.commands()]
