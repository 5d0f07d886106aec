"""Operations around a conversation: what is said, to whom, and how to end it."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import (
    TERMINAL,
    Address,
    InboundMessage,
    OutboundKind,
    OutboundMessage,
    Role,
    Sender,
)
from nanobot.operations.operation import Arguments, Caller, First, Here, Operation, OperationContext
from nanobot.operations.tasks import cancel_children
from nanobot.session.inbox import Admission, Admitted
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.text import MAX_TEXT, without_controls


class CommandHelp(msgspec.Struct, frozen=True):
    """An operation as help lists it."""

    usage: str
    help: str


class _Help(Arguments, frozen=True, kw_only=True):
    topic: Annotated[First, Meta(description="A command to be told all about; empty: all.")] = ""


async def _help(operations: OperationContext, caller: Caller, asked: _Help) -> list[CommandHelp]:
    topic = asked.topic.removeprefix("/").lower()
    found = [CommandHelp(o.usage, o.help) for o in operations.listed if o.may(caller.role)]
    about = [one for one in found if not topic or one.usage.split()[0] == f"/{topic}"]
    if not about:
        raise UsageError(f"there is no command /{topic}; /help lists them")
    return about


def _help_text(listed: list[CommandHelp], _: float) -> str:
    """One line for each family of commands; all their words when there is but one."""
    families: dict[str, list[CommandHelp]] = {}
    for one in listed:
        families.setdefault(one.usage.split()[0], []).append(one)
    if len(families) == 1:
        return "\n".join(f"- `{one.usage}` {one.help}" for one in listed)
    lines = []
    for name, family in families.items():
        if len(family) == 1:
            lines.append(f"- `{family[0].usage}` {family[0].help}")
        else:
            words = [one.usage.split()[1] for one in family if _has_word(one)]
            lines.append(f"- `{name}` {', '.join(words)} (`/help {name[1:]}` says more)")
    return "Write to me as you would to a person. Besides that:\n\n" + "\n".join(lines)


def _has_word(one: CommandHelp) -> bool:
    """Whether a command is of two words: `/runs list`."""
    words = one.usage.split()
    return len(words) > 1 and words[1].isalpha() and words[1].islower()


class _InSession(Arguments, frozen=True, kw_only=True):
    session: Here = ""


class SentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is on disk. `fresh` False: it was there already, by its key."""

    session_key: str
    inbound_id: int
    key: str
    fresh: bool


class _Send(Arguments, frozen=True, kw_only=True):
    text: Annotated[First, Meta(description="What to say.")]
    session: Here = ""
    key: Annotated[str, Meta(description="Taken only once with the same key.")] = ""


async def _send(operations: OperationContext, caller: Caller, asked: _Send) -> SentMessage:
    text = without_controls(asked.text)
    if not text.strip() or len(text) > MAX_TEXT:
        raise UsageError(f"a message has 1 to {MAX_TEXT:,} characters")
    key = asked.key or caller.key or os.urandom(12).hex()
    admission = _said(operations, caller, asked.session, text, key)
    taken = await _admitted(operations, admission)
    return SentMessage(
        session_key=asked.session, inbound_id=taken.inbound_id, key=key, fresh=taken.fresh
    )


def _said(
    operations: OperationContext, caller: Caller, session: str, text: str, key: str
) -> Admission:
    """A message of the caller's. Asked by a call, its answer goes to the terminal's chat."""
    chat = session.removeprefix(f"{TERMINAL}:")
    message = InboundMessage(
        address=caller.address or Address(TERMINAL, chat),
        message_id=key,
        dedupe_key=key,
        sender=Sender(caller.by, "you"),
        text=text,
        sent_at=operations.engine.now(),
    )
    return Admission(message=message, session_key=session, role=caller.role)


async def _admitted(operations: OperationContext, admission: Admission) -> Admitted:
    bus = operations.engine.bus
    (taken,) = await bus.admit(admission.message.address.channel, [admission])
    if taken.refused:
        raise NanobotError("too much is waiting in that session already; it was not taken")
    return taken


class _Compact(_InSession, frozen=True, kw_only=True):
    undo: Annotated[bool, Meta(description="Show again what the last summary covers.")] = False


async def _compact(operations: OperationContext, caller: Caller, asked: _Compact) -> SentMessage:
    key = os.urandom(12).hex()
    text = "/compact undo" if asked.undo else "/compact"
    taken = await _admitted(operations, _said(operations, caller, asked.session, text, key))
    return SentMessage(session_key=asked.session, inbound_id=taken.inbound_id, key=key, fresh=True)


async def _new(operations: OperationContext, caller: Caller, asked: _InSession) -> SentMessage:
    key = os.urandom(12).hex()
    admission = _said(operations, caller, asked.session, "/new", key)
    taken = await _admitted(operations, admission)
    return SentMessage(session_key=asked.session, inbound_id=taken.inbound_id, key=key, fresh=True)


class StopResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an order to stop ended; `run` is None when nothing ran."""

    session_key: str
    run: str | None


class _Stop(_InSession, frozen=True, kw_only=True):
    what: Annotated[
        Literal["", "all"],
        Meta(description="all: the background runs too.", extra={"positional": True}),
    ] = ""


async def _stop(operations: OperationContext, caller: Caller, asked: _Stop) -> StopResult:
    """By a call; in a chat the message itself is the order (Operations.admission)."""
    engine = operations.engine
    row = await engine.journal.session(asked.session)
    if row is None:
        raise UsageError(f"there is no session {asked.session}")
    live, partial = row.run, engine.partial(asked.session)
    word = () if live is None else (told(live.id, live.address, "Stopped."),)
    ending = Ending(
        state=RunState.ABORTED,
        bodies=() if partial is None else (partial,),
        outbound=word,
        error="stopped",
    )
    order = _said(operations, caller, asked.session, "/stop", os.urandom(12).hex())
    everything = asked.what == "all"
    if everything:
        await cancel_children(operations, asked.session, None, caller.by)
    order = msgspec.structs.replace(order, stop=ending, everyone=True, children=everything)
    taken = await _admitted(operations, order)
    if live is not None:
        engine.bus.owed(live.address)
    stopped = taken.stopped
    return StopResult(session_key=asked.session, run=None if stopped is None else stopped.id)


def told(run_id: str, address: Address, text: str) -> OutboundMessage:
    """A word to the chat of a run that somebody ended."""
    key = f"{run_id}:stopped"
    return OutboundMessage(address=address, text=text, kind=OutboundKind.NOTICE, key=key)


TALKING: tuple[Operation, ...] = (
    Operation(
        name="help",
        help="shows this list",
        run=_help,
        arguments=_Help,
        returns=list[CommandHelp],
        text=_help_text,
        role=Role.GUEST,
    ),
    Operation(
        name="new",
        help="starts a new conversation",
        run=_new,
        arguments=_InSession,
        returns=SentMessage,
        role=Role.GUEST,
        command="sessions new",
        in_lane=True,
    ),
    Operation(
        name="compact",
        help="sums up what was said so far, to go on with less (`/compact undo` takes it back)",
        run=_compact,
        arguments=_Compact,
        returns=SentMessage,
        command="sessions compact",
        in_lane=True,
    ),
    Operation(
        name="stop",
        help="stops what I am doing for you and drops what you have waiting",
        run=_stop,
        arguments=_Stop,
        returns=StopResult,
        role=Role.GUEST,
        command="sessions stop",
    ),
    Operation(
        name="send",
        help="puts a message into a session and does not wait for the answer",
        run=_send,
        arguments=_Send,
        returns=SentMessage,
    ),
)
