"""One life of a poisoned gateway, and what is said of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    closing,
    nullcontext,
    suppress,
)
from pathlib import Path
from typing import NamedTuple

from nanobot.ports import Clock
from nanobot.troubles import TROUBLES
from tests.poison.world import PATIENCE, Served, copied, due, due_in, served

START_SECONDS = 20.0
_LONGER = 3


def nothing(_: object) -> None:
    """As it is."""


class Verdict(NamedTuple):
    """What a poisoned gateway did: who waited in vain ("start": all of them), and what it said."""

    case: str
    stopped: tuple[str, ...]
    said: tuple[str, ...]
    quarantined: frozenset[str]
    """The tables of which rows were put aside."""

    @property
    def named(self) -> bool:
        """Whether it said anything of a failure: in the log, as a trouble, or in quarantine."""
        return bool(self.said)


class Case(NamedTuple):
    """Something bad: before the gateway starts, while it serves, or all the time."""

    name: str
    before: Callable[[Path], object] = nothing
    meanwhile: Callable[[Served], object] = nothing
    clock: Clock | None = None
    without: str = ""
    """What cannot be expected: nothing is due where the clock says 1970."""
    shared: Callable[[str], object] = nothing
    """What is bad in the PostgreSQL before the gateway starts."""
    off: str = ""
    """A plugin that is switched off."""


class Place(NamedTuple):
    """The home that is copied for each life, the copy, and the PostgreSQL beside it, if any."""

    source: Path
    target: Path
    database: Callable[[], AbstractContextManager[str]] = lambda: nullcontext("")


async def judged(case: Case, place: Place) -> Verdict:
    """Poison a copy of a home, and let a gateway serve it. A busy machine is not to be blamed on a
    case: who waits in vain has to do so twice, the second time for longer."""
    verdict = await _lived(case, place, 1)
    return await _lived(case, place, _LONGER) if verdict.stopped else verdict


async def _lived(case: Case, place: Place, longer: int) -> Verdict:
    copied(place.source, place.target)
    case.before(place.target)
    said, heard = list[str](), list[str]()
    seconds = START_SECONDS * longer
    with place.database() as database:
        try:
            async with asyncio.timeout(seconds), _served(case, place, database) as here:
                said = here.log
                case.meanwhile(here)
                waiting = here.waiting("a word", case.without, PATIENCE * longer)
                stopped = tuple(await waiting)
                heard = here.heard(stopped)
        except TimeoutError:
            stopped = (f"start or end within {seconds:g} s",)
        except BaseExceptionGroup as group:
            inner: BaseException = group
            while isinstance(inner, BaseExceptionGroup):
                inner = inner.exceptions[0]
            stopped = (f"start: {type(inner).__name__}: {str(inner)[:200]}",)
        except Exception as error:  # noqa: BLE001 - whatever ends a gateway is the verdict
            stopped = (f"start: {type(error).__name__}: {str(error)[:200]}",)
    troubles = [str(each) for each in TROUBLES.recent()]
    rows = [] if database else _quarantined(place.target)
    told = (*heard, *troubles, *map(str, rows), *_warned(said))
    return Verdict(case.name, stopped, told, frozenset(row[0] for row in rows))


@asynccontextmanager
async def _served(case: Case, place: Place, database: str) -> AsyncIterator[Served]:
    if database:
        due_in(database)
        case.shared(database)
    else:
        due(place.target)
    async with served(place.target, case.clock, database, off=case.off) as here:
        yield here


def _warned(log: list[str]) -> list[str]:
    return [line.splitlines()[0][:200] for line in log if "| WARNING" in line or "| ERROR" in line]


def _quarantined(home: Path) -> list[tuple[str, str, str, str]]:
    """What was put aside, but for what the tests put there themselves."""
    query = "SELECT of_table, row_key, of_column, reason FROM quarantine WHERE of_table != 'x'"
    with closing(sqlite3.connect(home / "state.db")) as connection, suppress(sqlite3.Error):
        return connection.execute(query).fetchall()
    return []
