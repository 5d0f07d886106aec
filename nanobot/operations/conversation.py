"""Operations around a conversation: what is said, to whom, and how to end it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import (
    TERMINAL,
    Address,
    InboundMessage,
    LaneCommand,
    OutboundKind,
    OutboundMessage,
    Role,
    Sender,
)
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional, SessionArgument
from nanobot.operations.tasks import cancel_children
from nanobot.session.inbox import Admission, Admitted
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.text import MAX_TEXT, without_controls


class CommandHelp(msgspec.Struct, frozen=True):
    """An operation as help lists it."""

    usage: str
    help: str


def _help_text(listed: list[CommandHelp], _: float) -> str:
    """One line for each family of commands; all their words when there is but one."""
    families: dict[str, list[CommandHelp]] = {}
    for command in listed:
        families.setdefault(command.usage.split()[0], []).append(command)
    if len(families) == 1:
        return "\n".join(f"- `{command.usage}` {command.help}" for command in listed)
    lines = []
    for name, family in families.items():
        if len(family) == 1:
            lines.append(f"- `{family[0].usage}` {family[0].help}")
        else:
            words = [command.usage.split()[1] for command in family if _has_word(command)]
            lines.append(f"- `{name}` {', '.join(words)} (`/help {name[1:]}` says more)")
    return "Write to me as you would to a person. Besides that:\n\n" + "\n".join(lines)


def _has_word(command: CommandHelp) -> bool:
    """Whether a command is of two words: `/runs list`."""
    words = command.usage.split()
    return len(words) > 1 and words[1].isalpha() and words[1].islower()


@operation("help", role=Role.GUEST, text=_help_text)
async def show_help(
    context: OperationContext,
    caller: Caller,
    topic: Annotated[
        Positional, Meta(description="A command to be told all about; empty: all.")
    ] = "",
) -> list[CommandHelp]:
    """Shows this list."""
    topic = topic.removeprefix("/").lower()
    commands = [CommandHelp(o.usage, o.help) for o in context.listed if o.may(caller.role)]
    about = [
        command for command in commands if not topic or command.usage.split()[0] == f"/{topic}"
    ]
    if not about:
        raise UsageError(f"there is no command /{topic}; /help lists them")
    return about


class SentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is on disk. `fresh` False: it was there already, by its key."""

    session_key: str
    inbound_id: int
    key: str
    fresh: bool


def _message(
    context: OperationContext,
    caller: Caller,
    session: str,
    text: str,
    key: str,
    command: LaneCommand | None = None,
) -> Admission:
    """A message of the caller's. Asked by a call, its answer goes to the terminal's chat."""
    chat = session.removeprefix(f"{TERMINAL}:")
    message = InboundMessage(
        address=caller.address or Address(TERMINAL, chat),
        message_id=key,
        dedupe_key=key,
        sender=Sender(caller.by, "you"),
        text=text,
        sent_at=context.engine.now(),
        command=command,
    )
    return Admission(message=message, session_key=session, role=caller.role)


async def _admit(context: OperationContext, admission: Admission) -> Admitted:
    bus = context.engine.bus
    (admitted,) = await bus.admit(admission.message.address.channel, [admission])
    if admitted.refused:
        raise NanobotError("too much is waiting in that session already; it was not taken")
    return admitted


async def _command(
    context: OperationContext, caller: Caller, session: str, command: LaneCommand
) -> SentMessage:
    key = os.urandom(12).hex()
    message = _message(context, caller, session, f"/{command}", key, command)
    admitted = await _admit(context, message)
    return SentMessage(session_key=session, inbound_id=admitted.inbound_id, key=key, fresh=True)


def _compact_command(arguments: Mapping[str, Any]) -> LaneCommand:
    return LaneCommand.COMPACT_UNDO if arguments["undo"] else LaneCommand.COMPACT


@operation("new", role=Role.GUEST, command="sessions new", in_lane=lambda _: LaneCommand.NEW)
async def start_anew(
    context: OperationContext, caller: Caller, session: SessionArgument = ""
) -> SentMessage:
    """Starts a new conversation."""
    return await _command(context, caller, session, LaneCommand.NEW)


@operation("compact", command="sessions compact", in_lane=_compact_command)
async def compact(
    context: OperationContext,
    caller: Caller,
    *,
    session: SessionArgument = "",
    undo: Annotated[bool, Meta(description="Show again what the last summary covers.")] = False,
) -> SentMessage:
    """Sums up what was said so far, to go on with less (`/compact undo` takes it back)."""
    return await _command(context, caller, session, _compact_command({"undo": undo}))


class StopResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an order to stop ended; `run` is None when nothing ran."""

    session_key: str
    run: str | None


@operation("stop", role=Role.GUEST, command="sessions stop")
async def stop(
    context: OperationContext,
    caller: Caller,
    session: SessionArgument = "",
    what: Annotated[
        Literal["", "all"],
        Meta(description="all: the background runs too.", extra={"positional": True}),
    ] = "",
) -> StopResult:
    """Stops what I am doing for you and drops what you have waiting."""
    # By a call; in a chat the message itself is the order (Dispatcher.admission).
    engine = context.engine
    row = await engine.journal.session(session)
    if row is None:
        raise UsageError(f"there is no session {session}")
    live, partial = row.run, engine.partial(session)
    notices = () if live is None else (stopped_notice(live.id, live.address, "Stopped."),)
    ending = Ending(
        state=RunState.ABORTED,
        bodies=() if partial is None else (partial,),
        outbound=notices,
        error="stopped",
    )
    order = _message(context, caller, session, "/stop", os.urandom(12).hex())
    everything = what == "all"
    if everything:
        await cancel_children(context, session, None, caller.by)
    order = msgspec.structs.replace(order, stop=ending, everyone=True, children=everything)
    admitted = await _admit(context, order)
    if live is not None:
        engine.bus.owed(live.address)
    stopped = admitted.stopped
    return StopResult(session_key=session, run=None if stopped is None else stopped.id)


def stopped_notice(run_id: str, address: Address, text: str) -> OutboundMessage:
    """A notice to the chat of a run that somebody ended."""
    key = f"{run_id}:stopped"
    return OutboundMessage(address=address, text=text, kind=OutboundKind.NOTICE, key=key)


@operation("send")
async def send(
    context: OperationContext,
    caller: Caller,
    text: Annotated[Positional, Meta(description="What to say.")],
    session: SessionArgument = "",
    key: Annotated[str, Meta(description="Taken only once with the same key.")] = "",
) -> SentMessage:
    """Puts a message into a session and does not wait for the answer."""
    text = without_controls(text)
    if not text.strip() or len(text) > MAX_TEXT:
        raise UsageError(f"a message has 1 to {MAX_TEXT:,} characters")
    key = key or caller.key or os.urandom(12).hex()
    admitted = await _admit(context, _message(context, caller, session, text, key))
    return SentMessage(
        session_key=session, inbound_id=admitted.inbound_id, key=key, fresh=admitted.fresh
    )
