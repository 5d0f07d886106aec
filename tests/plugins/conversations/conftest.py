"""A gateway over fakes."""

from __future__ import annotations

from tests.agent.conftest import bot

__all__ = ["bot"]
