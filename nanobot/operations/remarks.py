"""Remarks of plugins on runs, for people who look at them. They are computed, not stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

import msgspec

from nanobot.boundary import boundary
from nanobot.seam.given import listed
from nanobot.session.entries import Body, Entry
from nanobot.session.views import EntryView, Remark
from nanobot.text import Sentence

REMARK_SECONDS = 5.0
"""Time limit for the remarks of a plugin on one run."""
_MOST = 20
_CHARS = 500


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """One remark as a plugin gives it. `entry`: the entry that it is about; 0: the run."""

    text: Sentence
    entry: int = 0


Remarking: TypeAlias = Callable[
    [Sequence[Entry]], Iterable[Noted] | Awaitable[Iterable[Noted] | None] | None
]
"""What a plugin has to remark on a run, by its entries."""


class Remarks:
    """The functions of plugins that remark on runs, each with its plugin's name. One that fails is
    named, and the others are called all the same."""

    def __init__(self, functions: Sequence[tuple[str, Remarking]] = ()) -> None:
        self._functions = tuple(functions)

    def __bool__(self) -> bool:
        """Whether any plugin remarks on runs."""
        return bool(self._functions)

    async def on(self, run_id: str, views: Sequence[EntryView]) -> tuple[Remark, ...]:
        """The remarks on a run with these entries."""
        if not self:
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


NO_REMARKS = Remarks()


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
