"""Measurements of this machine with psutil. Every function may block."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from nanobot.plugins.events.levels import LevelLimits, LevelSensor, Measure, Wording
from nanobot.plugins.events.sensor import SensorUnreadable
from nanobot.plugins.events.settings import EventsSettings


def level_sensors(settings: EventsSettings) -> list[LevelSensor]:
    """The enabled level sensors."""
    disk = settings.disk
    kinds: list[tuple[str, Callable[[], Mapping[str, Measure]], Wording]] = [
        ("disk", partial(disks, disk.mounts), Wording("The disk at {of}", "is used")),
        ("memory", memory, Wording("Memory", "is used")),
        ("swap", swap, Wording("Swap space", "is used")),
        ("load", load, Wording("The load of each core", "in the last minute")),
    ]
    return [
        LevelSensor(
            name,
            settings.sample_seconds,
            measure,
            LevelLimits(over=watch.over, under=watch.under, for_seconds=watch.for_seconds),
            wording,
        )
        for name, measure, wording in kinds
        if (watch := getattr(settings, name)).enabled
    ]


def disks(mounts: Sequence[str]) -> Mapping[str, Measure]:
    """The used part of each mount, counted like `df` does; of all disks if no mount is given. A
    mount that does not exist, or that may not be read, is skipped.
    """
    import psutil  # noqa: PLC0415 - of an extra

    places = mounts or _local_disks()
    measured = {}
    for place in places:
        path = os.path.expanduser(place)  # noqa: PTH111 - a mount, as it is written
        try:
            usage = psutil.disk_usage(path)
        except OSError:
            continue
        detail = f"{amount(usage.free)} of {amount(usage.total)} are free"
        measured[place] = Measure(usage.percent, detail)
    if mounts and not measured:
        raise SensorUnreadable(f"these mounts do not exist: {', '.join(mounts)}")
    return measured


def _local_disks() -> list[str]:
    """One mount per disk; images that are always full (squashfs, iso9660) are skipped."""
    import psutil  # noqa: PLC0415

    mounts: dict[str, str] = {}
    for part in psutil.disk_partitions(all=False):
        if part.fstype not in {"squashfs", "iso9660"} and "ro" not in part.opts.split(","):
            mounts.setdefault(part.device, part.mountpoint)
    # In a container, the disk of / is not a device of its own.
    return list(mounts.values()) if "/" in mounts.values() else ["/", *mounts.values()]


def memory() -> Mapping[str, Measure]:
    """The used part of the memory."""
    import psutil  # noqa: PLC0415

    memory = psutil.virtual_memory()
    detail = f"{amount(memory.available)} of {amount(memory.total)} are available"
    return {"": Measure(memory.percent, detail)}


def swap() -> Mapping[str, Measure]:
    """The used part of the swap space; nothing if there is none."""
    import psutil  # noqa: PLC0415

    swap = psutil.swap_memory()
    if not swap.total:
        return {}
    return {"": Measure(swap.percent, f"{amount(swap.free)} of {amount(swap.total)} are free")}


def load() -> Mapping[str, Measure]:
    """The load of the last minute per core; 100 means fully loaded."""
    last = os.getloadavg()
    cores = os.cpu_count() or 1
    percent = round(100 * last[0] / cores, 1)
    return {
        "": Measure(percent, f"{last[0]:.1f} in all on {cores} cores ({last[2]:.1f} in 15 min)")
    }


def amount(count: int) -> str:
    """Bytes in readable form."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 100 or unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
