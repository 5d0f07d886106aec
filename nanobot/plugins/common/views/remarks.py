"""Remarks of plugins on runs, for people who look at them. They are computed, not stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from nanobot.boundary import boundary
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.seam.given import functions, listed
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.session.entries import Body, Entry
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.common.store.runs import StoredRuns

REMARK_SECONDS = 5.0
"""Time limit for the remarks of a plugin on one run."""
MOST_RUNS = 50
"""A page of a conversation has remarks on so many runs, the latest."""
_MOST = 20
_CHARS = 500


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """One remark as a plugin gives it. `entry`: the entry that it is about; 0: the run."""

    text: Sentence
    entry: int = 0


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin remarks on a run. `by`: the plugin. `entry`: the entry that it is about; 0: the
    run. `failed`: the plugin could not look, and why."""

    by: str
    run_id: str
    text: Sentence
    entry: int = 0
    failed: bool = False


Remarking: TypeAlias = Callable[
    [Sequence[Entry]], Iterable[Noted] | Awaitable[Iterable[Noted] | None] | None
]
"""What a plugin has to remark on a run, by its entries."""


class Remarks:
    """The functions of plugins that remark on runs, each with its plugin's name. One that fails is
    named, and the others are called all the same."""

    def __init__(self, functions: Sequence[tuple[str, Remarking]] = ()) -> None:
        self._functions = tuple(functions)

    async def on(self, run_id: str, views: Sequence[EntryView]) -> tuple[Remark, ...]:
        """The remarks on a run with these entries."""
        if not self._functions:
            return ()
        entries = [as_entry(view) for view in views if view.run_id == run_id]
        remarks: list[Remark] = []
        for name, function in self._functions:
            with boundary(f"remarks of the plugin {name}") as caught:
                remarks += await _called(name, run_id, function, entries)
            if caught.error is not None:
                why = f"{type(caught.error).__name__}: {caught.error}"
                text = f"The remarks of the plugin {name} failed: {why}"[:_CHARS]
                remarks.append(Remark(by=name, run_id=run_id, text=text, failed=True))
        return tuple(remarks)

    async def on_answers(
        self, runs: StoredRuns, entries: Sequence[EntryView]
    ) -> tuple[Remark, ...]:
        """The remarks on the runs that have a reply among these entries."""
        if not self._functions:
            return ()
        replied = dict.fromkeys(e.run_id for e in entries if e.kind == "reply" and e.run_id)
        remarks: list[Remark] = []
        for run_id in list(replied)[-MOST_RUNS:]:
            own = _whole(run_id, entries)
            if own is None:
                own = await runs.entries(run_id)
            remarks += await self.on(run_id, own)
        return tuple(remarks)


def remarks_of(contributions: Contributions | None) -> Remarks:
    """The remarks of the plugins that are on. Their functions are asked for once."""
    asked: Any = contributions
    return Remarks() if asked is None else _remarks_of(asked)


@lru_cache(maxsize=4)
def _remarks_of(contributions: Any) -> Remarks:
    remarking: list[tuple[str, Remarking]] = []

    def use(found: FoundPlugin, given: Any) -> None:
        remarking.extend((found.name, function) for function in functions(given))

    contributions.each("remarks", use)
    return Remarks(remarking)


def _whole(run_id: str, entries: Sequence[EntryView]) -> Sequence[EntryView] | None:
    """All entries of a run, if they are certainly among these: it begins with a message, and
    something follows it."""
    own = [entry for entry in entries if entry.run_id == run_id]
    first = own[0]
    begins = first.kind == "user" and first.body is not None and not first.body.get("steered")
    return own if begins and own[-1].seq != entries[-1].seq else None


def as_entry(view: EntryView) -> Entry:
    """An entry by its view; without a body where it was erased or is of no kind known here."""
    body: Body | None = None
    if view.body is not None:
        try:
            body = msgspec.convert(view.body, Body)
        except (msgspec.ValidationError, RecursionError):
            body = None
    return Entry(view.seq, view.run_id, view.at, body)


async def _called(
    name: str, run_id: str, function: Remarking, entries: Sequence[Entry]
) -> list[Remark]:
    given: Any = function(entries)
    if isawaitable(given):
        async with asyncio.timeout(REMARK_SECONDS):
            given = await given
    notes = listed(given, Noted)
    return [
        Remark(by=name, run_id=run_id, text=note.text[:_CHARS], entry=note.entry)
        for note in notes[:_MOST]
    ]


def remark_lines(remarks: Sequence[Remark]) -> list[Sentence]:
    """Remarks as lines of text."""
    pairs = ((f"! {remark.by}: {remark.text}", _where(remark)) for remark in remarks)
    return [" ".join(filter(None, pair)) for pair in pairs]


def _where(remark: Remark) -> Sentence:
    return f"(entry {remark.entry})" if remark.entry else ""
