"""What a person may do besides talking: the one list, behind the commands of every channel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from nanobot.agent.states import RunState, as_people_see
from nanobot.bus.events import InboundMessage, OutboundKind, OutboundMessage, Role
from nanobot.errors import NanobotError
from nanobot.journal import Admission, Ending, Journal, Run
from nanobot.providers.base import ModelProfile
from nanobot.session.entries import ReplyEntry


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as somebody asked for it."""

    message: InboundMessage
    session_key: str
    role: Role
    argument: str


class Engine(Protocol):
    """What operations need of the running gateway."""

    @property
    def journal(self) -> Journal:
        """The store's verbs."""
        ...

    def running(self) -> list[Run]:
        """The runs driven now."""
        ...

    def partial(self, session_key: str) -> ReplyEntry | None:
        """What the session's run has said so far."""
        ...

    async def describe_model(self, label: str | None) -> ModelProfile:
        """The model that a session with that label talks to; raises ConfigError or ModelError."""
        ...

    def uptime(self) -> float:
        """Seconds since the start."""
        ...


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do. `in_lane`: it keeps its place among the messages instead of overtaking."""

    name: str
    usage: str
    help: str
    in_lane: bool = False
    owners_only: bool = False
    answer: Callable[[Operations, Asked], Awaitable[str]] | None = None


class Operations:
    """Turns commands into admissions that are settled at once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def find(self, text: str) -> tuple[Operation, str] | None:
        """The operation a message asks for, with its argument; None for ordinary text."""
        if not text.startswith("/"):
            return None
        head, *rest = text.split(maxsplit=1)
        name = head[1:].split("@", 1)[0].lower()
        operation = _BY_NAME.get(name)
        return None if operation is None else (operation, "".join(rest).strip())

    async def admission(self, operation: Operation, asked: Asked) -> Admission:
        """The message with its answer, to be committed as one."""
        message = asked.message
        if operation.owners_only and asked.role is not Role.OWNER:
            return self._answered(asked, f"/{operation.name} is for owners.")
        if operation.name == "stop":
            return self._stop(asked)
        if operation.answer is None:
            # Whatever spelling was used, the lane knows one.
            plain = f"/{operation.name} {asked.argument}".strip()
            message = msgspec.structs.replace(message, text=plain)
            return Admission(message=message, session_key=asked.session_key, role=asked.role)
        try:
            text = await operation.answer(self, asked)
        except NanobotError as error:
            text = str(error)
        return self._answered(asked, text)

    def _answered(self, asked: Asked, text: str) -> Admission:
        return Admission(
            message=asked.message,
            session_key=asked.session_key,
            role=asked.role,
            answer=notice(asked.message, text),
        )

    def _stop(self, asked: Asked) -> Admission:
        """/stop reaches the sender's own run and messages, an owner's all of the session."""
        partial = self.engine.partial(asked.session_key)
        everyone = asked.role is Role.OWNER
        running = any(
            run.session_key == asked.session_key
            and (everyone or run.sender_id == asked.message.sender.id)
            for run in self.engine.running()
        )
        text = "Stopped." if running else _NOTHING_RUNS[everyone]
        ending = Ending(
            state=RunState.ABORTED,
            bodies=() if partial is None else (partial,),
            outbound=(notice(asked.message, text),),
            error="stopped",
        )
        return Admission(
            message=asked.message,
            session_key=asked.session_key,
            role=asked.role,
            stop=ending,
            everyone=everyone,
        )


def notice(message: InboundMessage, text: str) -> OutboundMessage:
    """A word from the gateway in answer to a message; its key makes it owed only once."""
    address = message.address
    return OutboundMessage(
        address=address,
        text=text,
        kind=OutboundKind.NOTICE,
        key=f"notice:{address.channel}:{address.chat_id}:{message.dedupe_key}",
    )


_NOTHING_RUNS = {
    True: "Nothing was running here; what waited is dropped.",
    False: "Nothing of yours was running here; what you had waiting is dropped.",
}


async def _help(_operations: Operations, asked: Asked) -> str:
    lines = [f"- `{o.usage}` {o.help}" for o in OPERATIONS if _may(o, asked.role)]
    return "Write to me as you would to a person. Besides that:\n\n" + "\n".join(lines)


def _may(operation: Operation, role: Role) -> bool:
    return role is Role.OWNER or not operation.owners_only


async def _status(operations: Operations, asked: Asked) -> str:
    engine = operations.engine
    row = await engine.journal.session(asked.session_key)
    profile = await engine.describe_model(row.model if row else None)
    lines = [f"Model: {profile.label}", f"Session: {asked.session_key}"]
    if row is not None:
        lines.append(f"Log: {row.entries} entries")
        run = row.run
        state = "idle" if run is None else f"{as_people_see(run.state)} ({run.id})"
        lines.append(f"Now: {state}, {row.waiting} waiting")
    lines.append(f"Gateway: up {engine.uptime() / 60:.0f} min, {len(engine.running())} running")
    return "\n".join(lines)


async def _model(operations: Operations, asked: Asked) -> str:
    engine = operations.engine
    row = await engine.journal.session(asked.session_key)
    if not asked.argument:
        profile = await engine.describe_model(row.model if row else None)
        return (
            f"{profile.label} answers here. `/model PROVIDER/MODEL` changes it for this session, "
            "`/model default` goes back to the configured one."
        )
    if asked.role is not Role.OWNER:
        return "Only owners change the model."
    label = None if asked.argument == "default" else asked.argument
    profile = await engine.describe_model(label)
    await engine.journal.set_model(asked.session_key, label)
    return f"From the next model call on, {profile.label} answers in this session."


OPERATIONS: tuple[Operation, ...] = (
    Operation(name="help", usage="/help", help="shows this list", answer=_help),
    Operation(name="new", usage="/new", help="starts a new conversation", in_lane=True),
    Operation(
        name="stop",
        usage="/stop",
        help="stops what I am doing for you and drops what you have waiting",
    ),
    Operation(
        name="status",
        usage="/status",
        help="shows the model, the session and what runs",
        answer=_status,
    ),
    Operation(
        name="model", usage="/model [NAME]", help="shows or changes the model", answer=_model
    ),
)

_BY_NAME = {operation.name: operation for operation in OPERATIONS} | {"start": OPERATIONS[0]}
