"""Operations on a conversation: start a new one, compact it, and stop its runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nanobot.addresses import called, chat_of
from nanobot.errors import NanobotError, UnknownId
from nanobot.messages import (
    TERMINAL,
    WEB,
    Address,
    InboundMessage,
    LaneCommand,
    OutboundKind,
    OutboundMessage,
    Role,
    Sender,
)
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import SessionArgument
from nanobot.session.entries import ReplyEntry
from nanobot.session.inbox import Admission, Admitted
from nanobot.session.runs import Ending
from nanobot.session.states import RunState


class SentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A stored message; `address` is the chat that gets the answer. `fresh` False: a message with
    this key was already stored."""

    session_key: str
    inbound_id: int
    key: str
    fresh: bool
    address: str


def message_of(
    context: OperationContext,
    caller: Caller,
    session: str,
    text: str,
    key: str,
    address: Address | None = None,
) -> Admission:
    """A message of the caller's. Its answer goes to the address, to the caller's chat, or, of a
    call, to that conversation of the page, else to the terminal's."""
    own = Address(TERMINAL, session.removeprefix(f"{TERMINAL}:"))
    if session.startswith(f"{WEB}:"):
        own = Address(WEB, chat_of(session))
    message = InboundMessage(
        address=address or caller.address or own,
        message_id=key,
        dedupe_key=key,
        sender=Sender(caller.by, called(caller.name, caller.by)),
        text=text,
        sent_at=context.engine.now(),
    )
    return Admission(message=message, session_key=session, role=caller.role)


async def admit(context: OperationContext, admission: Admission) -> Admitted:
    """Take it in. Raises NanobotError when too much is waiting there."""
    bus = context.engine.bus
    (admitted,) = await bus.admit(admission.message.address.channel, [admission])
    if admitted.refused:
        raise NanobotError("that session's queue is full; the message was rejected")
    return admitted


async def _command(
    context: OperationContext, caller: Caller, session: str, command: LaneCommand
) -> SentMessage:
    key = os.urandom(12).hex()
    admission = message_of(context, caller, session, f"/{command}", key)
    message = msgspec.structs.replace(admission.message, command=command)
    admitted = await admit(context, msgspec.structs.replace(admission, message=message))
    return SentMessage(
        session_key=session,
        inbound_id=admitted.inbound_id,
        key=key,
        fresh=True,
        address=str(message.address),
    )


def _compact_command(arguments: Mapping[str, Any]) -> LaneCommand:
    return LaneCommand.COMPACT_UNDO if arguments["undo"] else LaneCommand.COMPACT


@operation("new", role=Role.GUEST, command="sessions new", in_lane=lambda _: LaneCommand.NEW)
async def start_anew(
    context: OperationContext, caller: Caller, session: SessionArgument = ""
) -> SentMessage:
    """Start a new conversation.

    The model no longer sees earlier messages.
    """
    return await _command(context, caller, session, LaneCommand.NEW)


@operation("compact", command="sessions compact", in_lane=_compact_command)
async def compact(
    context: OperationContext,
    caller: Caller,
    *,
    session: SessionArgument = "",
    undo: Annotated[
        bool, Meta(description="Restore the messages that the last summary replaced.")
    ] = False,
) -> SentMessage:
    """Summarize the conversation to free context (`/compact undo` reverts).

    Nothing is deleted. It happens automatically when a conversation is too long for the model or
    has more than `agent.max_history` messages.
    """
    return await _command(context, caller, session, _compact_command({"undo": undo}))


class StopResult(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a stop ended; `run` is None if none was active."""

    session_key: str
    run: str | None


@operation("stop", role=Role.GUEST, command="sessions stop")
async def stop(
    context: OperationContext,
    caller: Caller,
    *,
    session: SessionArgument = "",
    background: Annotated[
        bool, Meta(description="Also stop its background runs.", extra={"name": "all"})
    ] = False,
) -> StopResult:
    """Stop the current answer and clear the queue.

    In a chat, the reply lists the dropped messages.
    """
    # By a call; in a chat the message itself is the order (Dispatcher.admission).
    engine = context.engine
    row = await engine.journal.session(session)
    if row is None:
        raise UnknownId(f"there is no session {session}")
    live, partial = row.run, engine.partial(session)
    notices = () if live is None else (stopped_notice(live.id, live.address, "Stopped."),)
    ending = stopping(partial, *notices)
    order = message_of(context, caller, session, "/stop", os.urandom(12).hex())
    if background:
        await cancel_children(context, session, None, caller.by)
    order = msgspec.structs.replace(order, stop=ending, everyone=True, children=background)
    admitted = await admit(context, order)
    if live is not None:
        engine.bus.owed(live.address)
    stopped = admitted.stopped
    return StopResult(session_key=session, run=None if stopped is None else stopped.id)


async def cancel_children(
    context: OperationContext, session: str, sender_id: str | None, by: str
) -> int:
    """End the background runs that a session (or one person there) started; returns how many."""
    engine, count = context.engine, 0
    for run_id in await engine.records.children(session, sender_id):
        ended = await engine.records.cancel(run_id, stopping(None), by)
        if ended is not None:
            count += 1
            engine.bus.stopped(ended)
            engine.bus.wake(ended.session_key, ended.kind)
    return count


def stopping(partial: ReplyEntry | None, *notices: OutboundMessage) -> Ending:
    """The end of a run that a person stops, with what it had said so far."""
    bodies = () if partial is None else (partial,)
    return Ending(state=RunState.ABORTED, bodies=bodies, outbound=notices, error="stopped")


def stopped_notice(run_id: str, address: Address, text: str) -> OutboundMessage:
    """A notice to the chat of a run that a person ended."""
    key = f"{run_id}:stopped"
    return OutboundMessage(address=address, text=text, kind=OutboundKind.NOTICE, key=key)
