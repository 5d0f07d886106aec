"""The checks of triggers that are shipped for authors find what they look for."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.testing import (
    triggers,
)
from nanobot.triggers.base import Publisher, Trigger


class Bell:
    """A trigger over a queue. `flaw`: what it does wrong."""

    def __init__(self, rung: asyncio.Queue[str], flaw: str = "") -> None:
        self._rung = rung
        self._flaw = flaw

    async def run(self, publisher: Publisher) -> None:
        while True:
            what = await self._rung.get()
            taken = await publisher.publish(f"Somebody rang: {what}", key=what)
            if self._flaw == "twice":
                await publisher.publish(f"Somebody rang: {what}")
            if self._flaw == "ends" or (self._flaw == "proud" and taken == "full"):
                return


class Door:
    """See nanobot.testing.triggers.Source."""

    def __init__(self, flaw: str = "") -> None:
        self._rung: asyncio.Queue[str] = asyncio.Queue()
        self._flaw = flaw

    def trigger(self) -> Trigger:
        return Bell(self._rung, self._flaw)

    async def happen(self, what: str) -> None:
        self._rung.put_nowait(what)


@pytest.mark.parametrize("check", triggers.CHECKS, ids=lambda check: check.__name__)
async def test_a_trigger_keeps_what_the_port_promises(check: triggers.Check) -> None:
    await check(Door())


@pytest.mark.parametrize(
    ("flaw", "check", "promise"),
    [
        ("twice", triggers.publishes_what_happens, "once, not more often"),
        ("ends", triggers.publishes_what_happens, "run goes on until it is cancelled"),
        ("proud", triggers.goes_on_when_it_is_not_taken, "run goes on when too much waits"),
    ],
)
async def test_a_triggers_broken_promise_is_named(
    flaw: str, check: triggers.Check, promise: str
) -> None:
    with pytest.raises((AssertionError, ExceptionGroup)) as failed:
        await check(Door(flaw))
    group = failed.value if isinstance(failed.value, ExceptionGroup) else None
    told = str(group.exceptions[0]) if group is not None else str(failed.value)
    assert promise in told
