"""A sensor: reads the machine, and decides, as a pure function, whether to report something."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from nanobot.errors import NanobotError

R = TypeVar("R")
S = TypeVar("S")


class SensorUnreadable(NanobotError):
    """A sensor cannot read at the moment; the reason is a sentence. It may work next time."""


class SensorOff(NanobotError):
    """A sensor cannot work on this machine; it is not asked again."""


class SensorEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event. `text` describes it in our words; `outside` are lines that may contain untrusted
    text (file names, log lines). `at`: when it was noticed.
    """

    at: float
    text: str
    outside: tuple[str, ...] = ()


class Sensor(Protocol[R, S]):
    """Reads one thing repeatedly.

    `name` is unique, stays the same across restarts, and appears in reports; `every` is the number
    of seconds between readings. `kind` is the type of the state, which is stored as JSON and
    survives restarts.
    """

    name: str
    every: float

    @property
    def kind(self) -> type[S]:
        """The type that `msgspec` reads the state as."""

    async def read(self, state: S | None) -> R:
        """The current reading. Does not block: slow work is done on a thread. Raises Unreadable, or
        Off.
        """

    def judge(self, reading: R, state: S | None, now: float) -> tuple[SensorEvent | None, S]:
        """The events in a reading, and the new state. Pure. `state` is None for the very first
        reading.
        """

    def seen(self, reading: R) -> str:
        """A reading in a few words, to show what is watched."""

    async def close(self) -> None:
        """Release the resources of reading. The sensor can be read again afterwards."""
