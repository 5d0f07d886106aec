"""A heartbeat as a gateway has it, over a FakeGateway."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from nanobot.app.triggers import triggers_of
from nanobot.config.loader import ChannelSettings, Config
from nanobot.config.settings.triggers import HeartbeatSettings
from nanobot.seam.entry_points import Plugins
from nanobot.store.opening import Store
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.machine import ManualClock
from nanobot.triggers.heartbeat import FILE, Heartbeat

ASKED = "- Look at the builds."


def at(text: str, zone: str = "UTC") -> float:
    """A time as clocks of a zone show it."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def configured(workspace: Path, **settings: Any) -> Config:
    """A configuration with the channel `fake`."""
    return Config(
        home=workspace.parent,
        file=workspace.parent / "config.toml",
        database_url="",
        workspace=workspace,
        blobs=workspace.parent / "blobs",
        channels={"fake": ChannelSettings(type="fake", owners=("1001",))},
        heartbeat=HeartbeatSettings(**settings),
    )


def heart(bot: FakeGateway, workspace: Path, **settings: Any) -> Heartbeat:
    """The heartbeat, composed as a gateway composes it."""
    store = Store(bot.process, bot.process.writer, None)
    config = configured(workspace, **settings)
    triggers = triggers_of(config, bot.cron, "UTC", Plugins(), store, bot.provider)
    heartbeat, _ = triggers["heartbeat"]
    assert isinstance(heartbeat, Heartbeat)
    return heartbeat


async def beaten(bot: FakeGateway, beats: Heartbeat, seconds: float = 1_800.0) -> str:
    """So much later there is a beat, done to its end; returns why there was none."""
    clock = bot.home.clock
    assert isinstance(clock, ManualClock)
    clock.advance(seconds)
    why = await beats.beat(clock.now())
    for _ in range(3):
        await bot.cron.fire()
        await bot.settle()
    return why


def wanted(workspace: Path, text: str = ASKED) -> None:
    """Write what is to be looked after."""
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / FILE).write_text(text, "utf-8")
