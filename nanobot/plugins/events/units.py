"""Units of systemd that failed, as `systemctl --failed` lists them."""

from __future__ import annotations

import asyncio
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Collection
from fnmatch import fnmatchcase

import msgspec

from nanobot.plugins.common.processes import end
from nanobot.plugins.events.plain import plain
from nanobot.plugins.events.sensor import SensorEvent, SensorOff, SensorUnreadable
from nanobot.plugins.events.settings import UnitsSettings

_PATIENCE = 20.0
_NAMED = 20


class _Row(msgspec.Struct):
    unit: str
    description: str = ""


class UnitsSensor:
    """The failed units by name, with their descriptions."""

    name = "units"
    kind = list[str]

    def __init__(self, settings: UnitsSettings, path: str | None = None) -> None:
        """`path`: where to search for programs, if not in the usual places."""
        self.every = settings.every_seconds
        self._settings = settings
        self._path = path

    async def read(self, state: list[str] | None) -> dict[str, str]:
        """See Sensor. Raises Off if there is no systemd."""
        program = shutil.which("systemctl", path=self._path)
        if program is None:
            raise SensorOff("there is no systemctl here")
        units = await self._failed(program)
        if self._settings.user:
            units |= await self._failed(program, "--user")
        return units

    async def _failed(self, program: str, *whose: str) -> dict[str, str]:
        command = (program, *whose, "--failed", "--output=json", "--no-pager", "--all")
        code, output, errors = await _ran(command)
        complaint = errors.decode("utf-8", "replace").strip().partition("\n")[0][:200]
        if code != 0:
            if "not been booted with systemd" in complaint:
                raise SensorOff("this machine was not started with systemd")
            raise SensorUnreadable(f"systemctl failed ({code}): {complaint or 'it says nothing'}")
        try:
            rows = msgspec.json.decode(output.strip() or b"[]", type=list[_Row])
        except msgspec.DecodeError:
            # Versions before 246 (July 2020) ignore --output here.
            raise SensorOff(
                "systemctl cannot tell in JSON; it takes systemd 246 or later"
            ) from None
        return {row.unit: plain(row.description) for row in rows if self._is_watched(row.unit)}

    def _is_watched(self, unit: str) -> bool:
        chosen, left = self._settings.include, self._settings.ignore
        return _fits(unit, chosen) and not _fits(unit, left)

    def judge(
        self, reading: dict[str, str], state: list[str] | None, now: float
    ) -> tuple[SensorEvent | None, list[str]]:
        """A sentence for newly failed units, and one for recovered units."""
        before = set(state or ())
        new = [
            f"{unit} ({reading[unit]})" if reading[unit] else unit
            for unit in sorted(set(reading) - before)
        ]
        mended = sorted(before - set(reading))
        sentences = [f"{_counted(new)} failed: {_listed(new)}."] if new else []
        if mended:
            sentences.append(f"{_counted(mended)} no longer failed: {_listed(mended)}.")
        return (SensorEvent(at=now, text=" ".join(sentences)) if sentences else None), sorted(
            reading
        )

    def seen(self, reading: dict[str, str]) -> str:
        return f"failed: {_listed(sorted(reading))}" if reading else "none failed"

    async def close(self) -> None:
        """No resources to release."""


def _fits(unit: str, globs: Collection[str]) -> bool:
    return any(fnmatchcase(unit, glob) for glob in globs)


def _counted(units: list[str]) -> str:
    return "A unit of systemd has" if len(units) == 1 else f"{len(units)} units of systemd have"


def _listed(units: list[str]) -> str:
    more = len(units) - _NAMED
    return ", ".join(units[:_NAMED]) + (f" and {more} more" if more > 0 else "")


async def _ran(command: tuple[str, ...]) -> tuple[int, bytes, bytes]:
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except OSError as error:
        raise SensorUnreadable(f"systemctl cannot be started: {error.strerror}") from None
    try:
        async with asyncio.timeout(_PATIENCE):
            output, errors = await process.communicate()
    except TimeoutError:
        raise SensorUnreadable(f"systemctl has not answered within {_PATIENCE:g} s") from None
    finally:
        await end(process)
    return process.returncode or 0, output, errors
