"""What the tests of this folder share with those of channels, and a world."""

from __future__ import annotations

from tests.agent.conftest import bot, held
from tests.channels.conftest import clock, platform
from tests.cli.conftest import world

__all__ = ["bot", "clock", "held", "platform", "world"]
