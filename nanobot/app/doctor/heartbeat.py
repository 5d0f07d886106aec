"""What keeps the heartbeat from doing what is wanted of it."""

from __future__ import annotations

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import NanobotError
from nanobot.server.client import call
from nanobot.triggers import heartbeat


async def hindrances(config: Config) -> list[tuple[str, str]]:
    """Each with what to do about it. A chat that is gone is known to the gateway that runs."""
    settings = config.heartbeat
    if not settings.enabled:
        return []
    wrong = heartbeat.trouble(config.workspace)
    problems = [(wrong, "")] if wrong else []
    try:
        dead = await call(config.home / "control.sock", "outbox list", {"state": "dead"})
    except NanobotError:
        return problems  # said of the gateway itself
    rows = msgspec.json.decode(dead) if dead and settings.to else []
    gone = next((row for row in rows if row["address"] == settings.to), None)
    if gone is not None:
        text = f"a message could not be delivered to {settings.to}: {gone['error']}"
        remedy = "If the chat is gone, set heartbeat.to to another; `nanobot outbox list` shows it"
        problems.append((text, remedy))
    return problems
