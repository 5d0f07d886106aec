"""Naming, pinning, archiving and reading conversations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import PositionalSession, Rest, SessionArgument
from nanobot.plugins.common.views.sessions import check_sight, session_of
from nanobot.plugins.common.views.views import SessionView
from nanobot.plugins.conversations.lists import listing_of


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
    await listing_of(context).mark_read(session, entry or None)
    return await session_of(context, caller, session)


@operation("sessions rename", role=Role.MEMBER, example="Holiday in Rome")
async def rename_session(
    context: OperationContext,
    caller: Caller,
    title: Annotated[
        Rest, Meta(max_length=120, description="The title; empty: back to the first sentence.")
    ] = "",
    *,
    session: SessionArgument = "",
) -> SessionView:
    """Rename a conversation."""
    await listing_of(context).rename(session, " ".join(title.split()))
    return await session_of(context, caller, session)


@operation("sessions pin", role=Role.MEMBER, example="telegram:1001")
async def pin_session(
    context: OperationContext, caller: Caller, session: PositionalSession = ""
) -> SessionView:
    """Pin a conversation to the top of the list."""
    await listing_of(context).pin(session, pinned=True)
    return await session_of(context, caller, session)


@operation("sessions unpin", role=Role.MEMBER, example="telegram:1001")
async def unpin_session(
    context: OperationContext, caller: Caller, session: PositionalSession = ""
) -> SessionView:
    """Unpin a conversation."""
    await listing_of(context).pin(session, pinned=False)
    return await session_of(context, caller, session)


@operation("sessions archive", role=Role.MEMBER, example="telegram:1001")
async def archive_session(
    context: OperationContext, caller: Caller, session: PositionalSession = ""
) -> SessionView:
    """Archive a conversation until its next message.

    Nothing is deleted, and search still finds it.
    """
    await listing_of(context).archive(session, archived=True)
    return await session_of(context, caller, session)


@operation("sessions unarchive", role=Role.MEMBER, example="telegram:1001")
async def unarchive_session(
    context: OperationContext, caller: Caller, session: PositionalSession = ""
) -> SessionView:
    """Return a conversation to the list."""
    await listing_of(context).archive(session, archived=False)
    return await session_of(context, caller, session)
