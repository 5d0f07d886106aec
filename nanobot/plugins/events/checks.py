"""The findings of `nanobot doctor` about the sensors."""

from __future__ import annotations

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import NanobotError
from nanobot.operations.home import Finding
from nanobot.plugins.common.control.client import call
from nanobot.plugins.events.sensors import sensors_of
from nanobot.plugins.events.settings import EventsSettings


async def checks(settings: EventsSettings, config: Config) -> list[Finding]:
    """The last readings of the sensors if a gateway runs; otherwise which sensors exist."""
    about = "events"
    sensors, _ = sensors_of(settings)
    try:
        answer = await call(config.home / "control.sock", "status", {})
    except NanobotError:
        answer = None  # reported with the gateway
    seen = msgspec.json.decode(answer).get("watches", {}) if answer else {}
    if not seen:
        text = "watched while the gateway runs: " + ", ".join(sensor.name for sensor in sensors)
        return [Finding(about=about, level="ok", text=text)]
    return [Finding(about=n, level="ok", text=seen[n]) for n in sorted(seen)]
