"""A heartbeat as a gateway has it, over a FakeGateway."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from nanobot.config.loader import ChannelSettings, Config
from nanobot.plugins.common.jobs.triggers import Publisher, Trigger
from nanobot.plugins.heartbeat import service
from nanobot.plugins.heartbeat.heartbeat import FILE, Heartbeat
from nanobot.plugins.heartbeat.settings import HeartbeatSettings
from nanobot.store.opening import Store
from nanobot.system import Zone
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.machine import ManualClock

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
        tables={"heartbeat": HeartbeatSettings(**settings)},
    )


def heart(bot: FakeGateway, workspace: Path, **settings: Any) -> Heartbeat:
    """The heartbeat, composed as a gateway composes it."""
    heartbeat, _ = heart_and_publisher(bot, configured(workspace, **settings))
    assert isinstance(heartbeat, Heartbeat)
    return heartbeat


def heart_and_publisher(bot: FakeGateway, config: Config) -> tuple[Trigger, Publisher]:
    """The heartbeat, with what becomes of what it says."""
    store = Store(bot.process, bot.process.writer, None)
    settings = config.of(HeartbeatSettings)
    triggers = service.triggers(settings, config, bot.cron, Zone("UTC"), store, bot.provider)
    return triggers["heartbeat"]


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
