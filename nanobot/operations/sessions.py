"""Operations on conversations as they are stored."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from nanobot.addresses import called, chat_of
from nanobot.errors import NotAllowed, UnknownId, UsageError
from nanobot.messages import WEB, Role
from nanobot.operations.notices import NoticeView
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Limit, PositionalSession
from nanobot.operations.remarks import remark_lines
from nanobot.operations.rendering import Now, as_text, cell
from nanobot.operations.timeline import RunPage
from nanobot.operations.visibility import visible_sessions
from nanobot.operations.waterfall import waterfall_lines
from nanobot.search.conversations import Filter
from nanobot.session.views import EntryView, SessionPage, SessionView
from nanobot.text import Sentence
from nanobot.triggers.clocks import moment

_QUOTED = 2_000


def check_sight(caller: Caller, key: str) -> None:
    """Raises NotAllowed where the caller may not read the session of that name."""
    if caller.owns(key) and not caller.sees(key):
        raise NotAllowed("Others can read this chat: use a private chat.")
    if not caller.sees(key):
        raise NotAllowed("Only owners can see other conversations.")


async def session_of(context: OperationContext, caller: Caller, key: str) -> SessionView:
    """The session of that name. Raises NanobotError, also where the caller may not read it."""
    check_sight(caller, key)
    session = await context.engine.records.session(key)
    if session is None:
        raise UnknownId(f"There is no session {key}; `sessions list` lists them.")
    return session


def page_text(page: SessionPage | RunPage, now: Now) -> Sentence:
    """What a session or a run is, then its entries."""
    head = page.session if isinstance(page, SessionPage) else page.run
    lines = [as_text(head, now), ""]
    if isinstance(page, RunPage):
        lines += waterfall_lines(page)
    if page.remarks:
        lines += [*remark_lines(page.remarks), ""]
    lines += [*(entry_line(entry, now) for entry in page.entries)]
    if isinstance(page, RunPage) and page.feedback:
        lines += ["", as_text(list(page.feedback), now)]
    return "\n".join(lines)


def entry_line(entry: EntryView, now: Now) -> str:
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


@operation(
    "sessions list",
    empty="`all` also lists single messages from the shell.",
    reads=True,
    role=Role.MEMBER,
    example="unread",
    shows=("sessions", "session_marks", "inbound", "prompt_uses", "archived_logs"),
)
async def list_sessions(  # noqa: PLR0913 - each narrows the list
    context: OperationContext,
    caller: Caller,
    *,
    unread: Annotated[bool, Meta(description="Only conversations with unread messages.")] = False,
    all: Annotated[
        bool, Meta(description="Include single messages from the shell (`agent -m`).")
    ] = False,
    find: Annotated[str, Meta(max_length=200, description="Filter by title or text.")] = "",
    limit: Limit = 20,
    skip: Annotated[int, Meta(ge=0, le=1_000_000, description="Skip this many.")] = 0,
    archived: Annotated[bool, Meta(description="Only archived conversations.")] = False,
) -> list[SessionView]:
    """List conversations: pinned first, then by last change.

    `find` searches names and titles, and messages if the plugin `search` is on.

    Archived conversations are listed only with `archived`, single messages from the shell (`nanobot
    agent -m`) only with `all`. Such messages are removed after 30 days, and all but the latest 200
    before that, unless they were continued.
    """
    which = Filter(
        unread=unread,
        find=find,
        once=all,
        archived=archived,
        keys=await visible_sessions(context, caller),
    )
    rows = await context.engine.conversations.listed(which, limit=limit, skip=skip)
    if find and not (rows or skip) and "search" not in [each.name for each in context.listed]:
        raise UsageError(
            "No name or title contains these words. The plugin search, which searches messages, "
            "is off here: `plugins list` says why, `plugins on search` switches it on."
        )
    return rows


@operation(
    "sessions show",
    reads=True,
    role=Role.MEMBER,
    text=page_text,
    example="telegram:1001 limit=50",
    shows=("entries",),
)
async def show_session(  # noqa: PLR0913 - each is one argument of people
    context: OperationContext,
    caller: Caller,
    session: PositionalSession = "",
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Number of entries.")] = 20,
    before: Annotated[int, Meta(ge=0, description="Entries before this one; 0: the latest.")] = 0,
    after: Annotated[
        int, Meta(ge=-1, description="Entries after this one; -1: use `before`.")
    ] = -1,
    at: Annotated[str, Meta(description="Show the conversation at this entry or time.")] = "",
) -> SessionPage:
    """Show a conversation and its latest log entries.

    `at` shows the log as it ended at an entry, or at a time such as 2030-12-24T18:00.
    """
    row = await session_of(context, caller, session)
    if at and (before or after >= 0):
        raise UsageError("Give either --at, or --before or --after.")
    if at:
        before = await _entry_at(context, row, at.strip()) + 1
    if after < 0:
        end = min(before - 1, row.entries) if before else row.entries
        after, limit = max(end - limit, 0), min(limit, end)
    entries = await context.engine.records.entries(session, after=after, limit=limit)
    remarks = await context.engine.remarks.on_answers(context.engine.records, entries)
    return SessionPage(session=row, entries=entries, remarks=remarks)


async def _entry_at(context: OperationContext, row: SessionView, at: str) -> int:
    """The last entry of a log at a moment: the number of an entry, or a time. Raises UsageError."""
    if at.isdecimal():
        if not 1 <= int(at[:18]) <= row.entries:
            raise UsageError(f"The log of {row.key} has entries 1 to {row.entries}, not {at[:18]}.")
        return int(at)
    until = moment(at, context.engine.zone)
    first, last = 0, row.entries
    while first < last:
        middle = (first + last) // 2
        found = await context.engine.records.entries(row.key, after=middle, limit=1)
        if found and found[0].at <= until:
            first = middle + 1
        else:
            last = middle
    if first == 0:
        raise UsageError(f"{row.key} had no entries yet at {at}.")
    return first


@operation("sessions mark-read", alias="sessions read", role=Role.GUEST, example="telegram:1001")
async def mark_read(
    context: OperationContext,
    caller: Caller,
    session: PositionalSession = "",
    *,
    entry: Annotated[int, Meta(ge=0, description="Up to this log entry; 0: all.")] = 0,
) -> SessionView:
    """Mark a conversation as read.

    When all of it is read, undelivered messages to a terminal there are dropped, except questions.
    """
    check_sight(caller, session)
    await context.engine.records.mark_read(session, entry or None)
    return await session_of(context, caller, session)


@operation(
    "sessions export",
    exact=True,
    reads=True,
    role=Role.MEMBER,
    text=page_text,
    example="telegram:1001",
    shows=("entries",),
)
async def export_session(
    context: OperationContext,
    caller: Caller,
    session: PositionalSession = "",
    after: Annotated[int, Meta(ge=0, description="Start after this entry.")] = 0,
    limit: Annotated[
        int, Meta(ge=1, le=100_000, description="Maximum number of entries.")
    ] = 100_000,
) -> SessionPage:
    """Export a conversation with its log."""
    row = await session_of(context, caller, session)
    entries = await context.engine.records.entries(session, after=after, limit=limit)
    return SessionPage(session=row, entries=entries)


def _notices_text(notices: list[NoticeView], _: Now) -> Sentence:
    if not notices:
        return "No other messages."
    return "\n\n".join(f"{each.said}\n{each.text}".strip() for each in reversed(notices))


@operation(
    "sessions notices",
    reads=True,
    role=Role.MEMBER,
    text=_notices_text,
    example="telegram:1001",
    shows=("outbound", "inbound"),
)
async def list_notices(
    context: OperationContext,
    caller: Caller,
    session: PositionalSession = "",
    since: Annotated[float, Meta(ge=0, description="Only after this time (Unix seconds).")] = 0.0,
    limit: Limit = 20,
) -> list[NoticeView]:
    """List the commands of a conversation with their answers.

    They are not part of its log, and the model never sees them. Refusals are listed, too.
    """
    check_sight(caller, session)
    rows = await context.engine.notices.latest(
        session, _chats_of(session), since=since, limit=limit
    )
    return [
        NoticeView(
            id=number,
            key=answer.key,
            at=at,
            said="" if message is None else message.text,
            by="" if message is None else called(message.sender.name, message.sender.id),
            text=answer.text,
            own=answer.own_words,
        )
        for number, at, answer, message in rows
    ]


def _chats_of(session: str) -> list[str]:
    """The chats that a session of that name may be of: that of the page, and, as names of chats
    may have colons in them, each that its own name begins with."""
    channel, *parts = session.split(":")
    own = [":".join([channel, *parts[:count]]) for count in range(1, len(parts) + 1)]
    return own if channel == WEB else [f"{WEB}:{chat_of(session)}", *own]
