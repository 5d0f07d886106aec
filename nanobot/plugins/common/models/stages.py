"""What a stage asks about its run: whether it has begun to act, and what it is to answer."""

from __future__ import annotations

from nanobot.agent.active_run import ActiveRun
from nanobot.session.entries import ModelCallEntry, ReplyEntry


def acts(active: ActiveRun) -> bool:
    """Whether the run has begun to act."""
    return any(isinstance(body, ModelCallEntry | ReplyEntry) for body in active.bodies)


def question(active: ActiveRun, limit: int) -> str:
    """The text that the run is to answer, at most `limit` characters."""
    return "\n".join(message.text for message in active.messages if message.text)[:limit]
