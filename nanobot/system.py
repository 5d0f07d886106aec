"""The machine as it is: the real clock and the real source of randomness."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    """Clock over the system's."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class RandomIds:
    """Ids from the clock and the system's randomness."""

    def run_id(self) -> str:
        """26 characters of Crockford's base 32: milliseconds, then 80 random bits (as a ULID)."""
        number = (int(time.time() * 1000) << 80) | int.from_bytes(os.urandom(10), "big")
        return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))

    def salt(self) -> bytes:
        """16 random bytes."""
        return os.urandom(16)


def environment() -> Mapping[str, str]:
    """The environment, for programs that use nanobot as a library. The command line hands its own
    on instead."""
    return dict(os.environ)  # noqa: TID251 - a library has no command line before it


def local_zone(environ: Mapping[str, str]) -> str:
    """The machine's zone by name: TZ, else what /etc/localtime points to, else UTC."""
    named = environ.get("TZ", "").lstrip(":")
    if named:
        return named
    target = os.path.realpath("/etc/localtime")
    return target.partition("/zoneinfo/")[2] or "UTC"
