"""The configured sensors, and the packages they lack."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from nanobot.plugins.common.optional import command
from nanobot.plugins.events.files import FilesSensor
from nanobot.plugins.events.logs import LogSensor
from nanobot.plugins.events.machine import level_sensors
from nanobot.plugins.events.processes import ProcessSensor
from nanobot.plugins.events.sensor import Sensor
from nanobot.plugins.events.settings import EventsSettings
from nanobot.plugins.events.units import UnitsSensor

INSTALL = command("events")


def installed(package: str) -> bool:
    """Whether a package is installed."""
    return find_spec(package) is not None


def sensors_of(
    settings: EventsSettings, there: Callable[[str], bool] = installed
) -> tuple[list[Sensor[Any, Any]], list[str]]:
    """The enabled sensors that can work, and a sentence for each missing package that other sensors
    need.
    """
    processes = [
        ProcessSensor(name, table) for name, table in settings.processes.items() if table.enabled
    ]
    files = [
        FilesSensor(name, table, settings.fold_seconds)
        for name, table in settings.files.items()
        if table.enabled
    ]
    logs = [
        LogSensor(name, table, settings.fold_seconds)
        for name, table in settings.logs.items()
        if table.enabled
    ]
    usable: list[Sensor[Any, Any]] = [*logs]
    if settings.units.enabled:
        usable.append(UnitsSensor(settings.units))
    lacking = []
    groups: tuple[tuple[str, list[Sensor[Any, Any]]], ...] = (
        ("psutil", [*level_sensors(settings), *processes]),
        ("watchfiles", [*files]),
    )
    for package, group in groups:
        if there(package):
            usable += group
        elif group:
            names = ", ".join(f"events.{sensor.name}" for sensor in group)
            lacking.append(f"{names}: off, because {package} is not installed: {INSTALL}")
    return usable, lacking


def prompts_of(settings: EventsSettings) -> dict[str, str]:
    """The instructions for events of each watch, by the sensor's name."""
    single = {name: getattr(settings, name) for name in ("disk", "memory", "swap", "load", "units")}
    for group in ("processes", "files", "logs"):
        single |= {f"{group}.{name}": table for name, table in getattr(settings, group).items()}
    return {name: table.prompt for name, table in single.items() if table.prompt}
