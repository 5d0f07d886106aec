"""A sensor: what is read of the machine, and the pure decision whether that is worth a word."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from nanobot.errors import NanobotError

R = TypeVar("R")
S = TypeVar("S")


class SensorUnreadable(NanobotError):
    """A sensor cannot read now, for a reason that is a sentence; it may the next time."""


class SensorOff(NanobotError):
    """A sensor can read nothing on this machine; it is not asked again."""


class SensorEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something happened. `text` says it in words of ours; `outside` are lines that somebody else
    may have written (names of files, lines of logs). `at` is when it was noticed."""

    at: float
    text: str
    outside: tuple[str, ...] = ()


class Sensor(Protocol[R, S]):
    """Reads one thing again and again.

    `name` is unique, the same after a restart, and part of what is told; `every` are the seconds
    between two readings. `kind` is the type of the state, which survives restarts as JSON."""

    name: str
    every: float

    @property
    def kind(self) -> type[S]:
        """What `msgspec` reads the state as."""
        ...

    async def read(self, state: S | None) -> R:
        """What there is now. Blocks nobody: what may take time is done on a thread. Raises
        Unreadable, or Off."""
        ...

    def judge(self, reading: R, state: S | None, now: float) -> tuple[SensorEvent | None, S]:
        """What is to be told of a reading, and the state after it. Pure. `state` is None before the
        very first reading."""
        ...

    def seen(self, reading: R) -> str:
        """A reading in a few words, for whoever asks what is watched."""
        ...

    async def close(self) -> None:
        """Let go of what reading needs. It may be read again after."""
        ...
