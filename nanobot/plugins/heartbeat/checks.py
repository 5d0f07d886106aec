"""Problems that prevent the heartbeat."""

from __future__ import annotations

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import NanobotError, UsageError
from nanobot.operations.home import Finding
from nanobot.plugins.common.control.client import call
from nanobot.plugins.heartbeat import heartbeat
from nanobot.plugins.heartbeat.settings import HeartbeatSettings


async def checks(settings: HeartbeatSettings, config: Config) -> list[Finding]:
    """The findings of `nanobot doctor` about problems that prevent the heartbeat."""
    return [
        Finding(about="heartbeat", level="warning", text=text, remedy=remedy)
        for text, remedy in await _hindrances(settings, config)
    ]


async def _hindrances(settings: HeartbeatSettings, config: Config) -> list[tuple[str, str]]:
    """The problems, each with its remedy. Only a running gateway knows that a chat is gone."""
    wrong = heartbeat.trouble(config.workspace)
    problems = [(wrong, "")] if wrong else []
    try:
        dead = await call(config.home / "control.sock", "outbox list", {"state": "dead"})
    except UsageError as error:  # the plugin of that list is off
        return [*problems, (f"undelivered messages were not looked for: {error}", "")]
    except NanobotError:
        return problems  # reported with the gateway
    rows = msgspec.json.decode(dead) if dead and settings.to else []
    gone = next((row for row in rows if row["address"] == settings.to), None)
    if gone is not None:
        text = f"a message could not be delivered to {settings.to}: {gone['error']}"
        remedy = "If the chat is gone, set heartbeat.to to another; `nanobot outbox list` shows it"
        problems.append((text, remedy))
    return problems
