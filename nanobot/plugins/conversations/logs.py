"""The list of conversations, and their logs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Limit, PositionalSession
from nanobot.operations.rendering import Now, as_text
from nanobot.plugins.common.message_search import MessageSearch
from nanobot.plugins.common.times.local_times import moment
from nanobot.plugins.common.views.sessions import (
    SessionPage,
    log_lines,
    log_of,
    log_page,
    session_of,
)
from nanobot.plugins.common.views.views import SessionView
from nanobot.plugins.common.views.visibility import visible_sessions
from nanobot.plugins.conversations.lists import Filter, listing_of
from nanobot.text import Sentence


def page_text(page: SessionPage, now: Now) -> Sentence:
    """What a conversation is, then its entries."""
    return "\n".join([as_text(page.session, now), "", *log_lines(page.remarks, page.entries, now)])


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
    messages = context.offered(MessageSearch)  # type: ignore[type-abstract]
    rows = await listing_of(context).listed(which, messages, limit=limit, skip=skip)
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
    return await log_page(context, row, before=before, after=after, limit=limit)


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
    entries = await log_of(context).entries(session, after=after, limit=limit)
    return SessionPage(session=row, entries=entries)


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
        found = await log_of(context).entries(row.key, after=middle, limit=1)
        if found and found[0].at <= until:
            first = middle + 1
        else:
            last = middle
    if first == 0:
        raise UsageError(f"{row.key} had no entries yet at {at}.")
    return first
