"""What plugins say of the answers of runs before they are given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.runner import Check
from nanobot.app.plugged import Plugged
from nanobot.boundary import boundary
from nanobot.seam.given import of_kind
from nanobot.session.entries import Entry, ObjectionEntry, ReplyEntry
from nanobot.text import clean

CHECK_SECONDS = 5.0
"""Time limit for the look of a plugin at an answer."""
_CHARS = 2_000

Looking: TypeAlias = Callable[[Sequence[Entry]], str | Awaitable[str | None] | None]
"""What is wrong with the answer at the end of a run's entries, as the model is told; nothing if it
is fine."""


def check_of(plugged: Plugged) -> Check | None:
    """The checks of the plugins that are on, in their order; None if there are none. The first
    objection counts. If a check fails, this is reported, and the others are made."""
    checks = plugged.functions("answer_checks")
    if not checks:
        return None

    async def check(active: ActiveRun) -> ObjectionEntry | None:
        entries = active.entries
        answer = entries[-1].body
        if not isinstance(answer, ReplyEntry):
            return None
        for found, function in checks:
            text = ""
            with boundary(f"the check of an answer by the plugin {found.name}"):
                text = await _looked(function, entries)
            if text:
                return ObjectionEntry(call=answer.call, text=text, by=found.name)
        return None

    return check


async def _looked(function: Looking, entries: Sequence[Entry]) -> str:
    given: Any = function(entries)
    if isawaitable(given):
        async with asyncio.timeout(CHECK_SECONDS):
            given = await given
    text = "" if given is None else of_kind(given, str)
    return clean(text).strip()[:_CHARS]
