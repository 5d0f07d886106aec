"""Operations on conversations as they are stored."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    HereFirst,
    Limit,
    Operation,
    OperationContext,
)
from nanobot.operations.rendering import as_text, cell
from nanobot.session.views import EntryView, RunPage, SessionPage, SessionView

_QUOTED = 2_000


class _ListSessions(Arguments, frozen=True, kw_only=True):
    unread: Annotated[bool, Meta(description="Only those with something unread.")] = False
    limit: Limit = 20


class _Session(Arguments, frozen=True, kw_only=True):
    session: HereFirst = ""


class _ShowSession(_Session, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many of its last entries.")] = 20


class _DeleteSession(Arguments, frozen=True, kw_only=True):
    session: Annotated[First, Meta(description="The session.")]


class _ExportSession(_Session, frozen=True, kw_only=True):
    after: Annotated[int, Meta(ge=0, description="Begin behind this entry.")] = 0
    limit: Annotated[int, Meta(ge=1, le=100_000, description="How many entries at most.")] = 100_000


class DeletedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is gone, with how many entries it had."""

    key: str
    entries: int


async def _sessions(
    operations: OperationContext, _: Caller, asked: _ListSessions
) -> list[SessionView]:
    return await operations.engine.records.sessions(limit=asked.limit, unread=asked.unread)


async def _session_of(operations: OperationContext, key: str) -> SessionView:
    found = await operations.engine.records.session(key)
    if found is None:
        raise NanobotError(f"There is no session {key}; `sessions list` shows those there are.")
    return found


async def _show_session(
    operations: OperationContext, _: Caller, asked: _ShowSession
) -> SessionPage:
    found = await _session_of(operations, asked.session)
    after = max(found.entries - asked.limit, 0)
    entries = await operations.engine.records.entries(asked.session, after=after, limit=asked.limit)
    return SessionPage(session=found, entries=entries)


async def _export(operations: OperationContext, _: Caller, asked: _ExportSession) -> SessionPage:
    found = await _session_of(operations, asked.session)
    read = operations.engine.records.entries
    return SessionPage(
        session=found, entries=await read(asked.session, after=asked.after, limit=asked.limit)
    )


async def _read(operations: OperationContext, _: Caller, asked: _Session) -> SessionView:
    await operations.engine.records.mark_read(asked.session)
    return await _session_of(operations, asked.session)


async def _delete(operations: OperationContext, _: Caller, asked: _DeleteSession) -> DeletedSession:
    await _session_of(operations, asked.session)
    count = await operations.engine.records.delete(asked.session)
    return DeletedSession(key=asked.session, entries=count)


def page_text(page: SessionPage | RunPage, now: float) -> str:
    """What a session or a run is, then its entries."""
    head = page.session if isinstance(page, SessionPage) else page.run
    return "\n".join([as_text(head, now), "", *(entry_line(entry, now) for entry in page.entries)])


def entry_line(entry: EntryView, now: float) -> str:
    """An entry in a line or a paragraph: when, what, and the words in it."""
    return f"{entry.seq}. {cell('at', entry.at, now)}, {entry.kind}: {_words(entry)}".rstrip(": ")


def _words(entry: EntryView) -> str:
    body: dict[str, Any] | None = entry.body
    if body is None:
        return "(erased)"
    if entry.kind == "model_call":
        profile = body["profile"]
        return f"{profile['provider']}/{profile['name']}"
    calls = [f"{call['name']} {call['arguments']}" for call in body.get("tool_calls", ())]
    text = "\n".join([str(body.get("text", "")), *calls]).strip()
    named = f"{body['name']} {text}" if entry.kind.startswith("tool_") else text
    return named if len(named) <= _QUOTED else f"{named[:_QUOTED]}…"


SESSIONS: tuple[Operation, ...] = (
    Operation(
        name="sessions list",
        help="lists the conversations that changed last",
        run=_sessions,
        arguments=_ListSessions,
        returns=list[SessionView],
    ),
    Operation(
        name="sessions show",
        help="shows a conversation with the end of its log",
        run=_show_session,
        arguments=_ShowSession,
        returns=SessionPage,
        text=page_text,
    ),
    Operation(
        name="sessions read",
        help="marks a conversation as read",
        run=_read,
        arguments=_Session,
        returns=SessionView,
    ),
    Operation(
        name="sessions delete",
        help="removes a conversation for good",
        run=_delete,
        arguments=_DeleteSession,
        returns=DeletedSession,
        confirm="This removes the conversation with its whole log. Go on?",
    ),
    Operation(
        name="sessions export",
        help="gives a conversation with its log as it is stored",
        run=_export,
        arguments=_ExportSession,
        returns=SessionPage,
        text=page_text,
    ),
)
