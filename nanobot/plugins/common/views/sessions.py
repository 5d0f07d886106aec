"""A conversation as it is stored, for whoever may see it: its row, and pages of its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from nanobot.errors import NotAllowed, UnknownId
from nanobot.operations.operation import Caller, OperationContext
from nanobot.operations.rendering import Now, cell
from nanobot.plugins.common.runs.run_ids import runs_in
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.common.views.remarks import Remark, remark_lines, remarks_of
from nanobot.plugins.common.views.views import SessionView
from nanobot.seam.offers import Contributions
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.common.store.session_lists import SessionLists
    from nanobot.plugins.common.store.session_log import SqlSessionLog

_QUOTED = 2_000


class SessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """A session with entries of its log, in order. `remarks`: on the answers among them."""

    session: SessionView
    entries: tuple[EntryView, ...]
    remarks: tuple[Remark, ...] = ()


def check_sight(caller: Caller, key: str) -> None:
    """Raises NotAllowed where the caller may not read the session of that name."""
    if caller.owns(key) and not caller.sees(key):
        raise NotAllowed("Others can read this chat: use a private chat.")
    if not caller.sees(key):
        raise NotAllowed("Only owners can see other conversations.")


async def session_of(context: OperationContext, caller: Caller, key: str) -> SessionView:
    """The session of that name. Raises NanobotError, also where the caller may not read it."""
    check_sight(caller, key)
    session = await lists_of(context).one(key)
    if session is None:
        raise UnknownId(f"There is no session {key}; `sessions list` lists them.")
    return session


def log_of(context: OperationContext) -> SqlSessionLog:
    """The logs of sessions in the gateway in which an operation runs."""
    from nanobot.plugins.common.store.session_log import (  # noqa: PLC0415 - loads the store
        SqlSessionLog,
    )
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return SqlSessionLog(store.database, store.writer)


def lists_of(context: OperationContext) -> SessionLists:
    """The lists of sessions of that gateway."""
    from nanobot.plugins.common.store.session_lists import (  # noqa: PLC0415 - loads the store
        SessionLists,
    )
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return SessionLists(store.database, store.writer)


async def log_page(
    context: OperationContext, row: SessionView, *, before: int = 0, after: int = -1, limit: int
) -> SessionPage:
    """The entries of a log after one (-1: those before `before`; 0: the latest), with remarks."""
    if after < 0:
        end = min(before - 1, row.entries) if before else row.entries
        after, limit = max(end - limit, 0), min(limit, end)
    entries = await log_of(context).entries(row.key, after=after, limit=limit)
    contributions = context.offered(Contributions)  # type: ignore[type-abstract]
    remarks = await remarks_of(contributions).on_answers(runs_in(context), entries)
    return SessionPage(session=row, entries=entries, remarks=remarks)


def log_lines(remarks: Sequence[Remark], entries: Sequence[EntryView], now: Now) -> list[Sentence]:
    """The remarks, then the entries."""
    noted = [*remark_lines(remarks), ""] if remarks else []
    return [*noted, *(_entry_line(entry, now) for entry in entries)]


def _entry_line(entry: EntryView, now: Now) -> str:
    """An entry in a line or a paragraph: when, what, and the words in it."""
    return f"{entry.seq}. {cell('at', entry.at, now)}, {entry.kind}: {_words(entry)}".rstrip(": ")


def _words(entry: EntryView) -> str:
    body: dict[str, Any] | None = entry.body
    if body is None:
        return "(erased)"
    if entry.kind == "model_call":
        profile = body["profile"]
        return f"{profile['provider']}/{profile['name']}"
    if entry.kind == "feedback":
        return f"{body['verdict']} {body.get('text', '')}".strip()
    calls = [f"{call['name']} {call['arguments']}" for call in body.get("tool_calls", ())]
    text = "\n".join([str(body.get("text", "")), *calls]).strip()
    named = f"{body['name']} {text}" if entry.kind.startswith("tool_") else text
    return named if len(named) <= _QUOTED else f"{named[:_QUOTED]}…"
