"""A gateway over fakes, and a model that waits."""

from __future__ import annotations

from tests.agent.conftest import bot, held

__all__ = ["bot", "held"]
