"""One life of a poisoned gateway, and what is said of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from nanobot.ports import Clock
from nanobot.troubles import TROUBLES
from tests.poison.world import Served, copied, served

START_SECONDS = 20.0


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


async def judged(
    case: str,
    source: Path,
    target: Path,
    poison: Callable[[Path], object],
    meanwhile: Callable[[Served], object] = lambda _here: None,
    clock: Clock | None = None,
    without: str = "",
) -> Verdict:
    """Poison a copy of a home, and let a gateway serve it."""
    copied(source, target)
    poison(target)
    said: list[str] = []
    try:
        async with asyncio.timeout(START_SECONDS), served(target, clock) as here:
            said = here.log
            meanwhile(here)
            stopped = tuple(await here.waiting("a word", without))
    except TimeoutError:
        stopped = ("start or end within 20 s",)
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        stopped = (f"start: {type(inner).__name__}: {str(inner)[:200]}",)
    except Exception as error:  # noqa: BLE001 - whatever ends a gateway is the verdict
        stopped = (f"start: {type(error).__name__}: {str(error)[:200]}",)
    troubles = [str(each) for each in TROUBLES.recent()]
    rows = _quarantined(target)
    return Verdict(
        case, stopped, (*troubles, *map(str, rows), *_warned(said)), frozenset(r[0] for r in rows)
    )


def _warned(log: list[str]) -> list[str]:
    return [line.splitlines()[0][:200] for line in log if "| WARNING" in line or "| ERROR" in line]


def _quarantined(home: Path) -> list[tuple[str, str, str, str]]:
    """What was put aside, but for what the tests put there themselves."""
    query = "SELECT of_table, row_key, of_column, reason FROM quarantine WHERE of_table != 'x'"
    with closing(sqlite3.connect(home / "state.db")) as connection, suppress(sqlite3.Error):
        return connection.execute(query).fetchall()
    return []
