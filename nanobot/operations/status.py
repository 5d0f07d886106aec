"""Operations on how things stand, and on which model answers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Arguments, Caller, First, Here, Operation, OperationContext
from nanobot.session.states import RunState, as_people_see


class _InSession(Arguments, frozen=True, kw_only=True):
    session: Here = ""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand. `serving` False: no nanobot runs in this home; `run` is the session's.
    `watches` are for owners alone."""

    version: str
    home: str
    serving: bool
    pid: int
    uptime: float
    channels: dict[str, str]
    web: str
    watches: dict[str, str] = {}
    model: str
    session_key: str
    entries: int
    run: str | None
    run_state: RunState | None
    waiting: int
    running: int
    owed: int
    dead: int


async def _status(operations: OperationContext, caller: Caller, asked: _InSession) -> Status:
    engine = operations.engine
    row = await engine.journal.session(asked.session)
    facts, counts = engine.facts(), await engine.records.counts()
    try:
        model = (await engine.describe_model(row.model if row else None)).label
    except NanobotError as error:
        model = f"none: {error}"
    live = row.run if row else None
    shown = facts.serving and caller.role is Role.OWNER and caller.private
    return Status(
        version=facts.version,
        home=facts.home,
        serving=facts.serving,
        pid=facts.pid,
        uptime=engine.uptime() if facts.serving else 0.0,
        channels=dict(facts.channels),
        web=facts.web,
        watches=dict(facts.watches) if shown else {},
        model=model,
        session_key=asked.session,
        entries=row.entries if row else 0,
        run=live.id if live else None,
        run_state=live.state if live else None,
        waiting=row.waiting if row else 0,
        running=len(engine.running()),
        owed=counts.owed,
        dead=counts.dead,
    )


def _status_text(status: Status, _: float) -> str:
    now = "idle"
    if status.run_state is not None:
        now = f"{as_people_see(status.run_state)} ({status.run})"
    lines = [
        f"Model: {status.model}",
        f"Session: {status.session_key}",
        f"Log: {status.entries} entries",
        f"Now: {now}, {status.waiting} waiting",
    ]
    if status.serving:
        lines.append(f"Gateway: up {status.uptime / 60:.0f} min, {status.running} running")
    else:
        lines.append("Gateway: not running")
    if status.channels:
        states = ", ".join(f"{name} {state}" for name, state in status.channels.items())
        lines.append(f"Channels: {states}")
    if status.web:
        where = f"{status.home}/web.token unless web.token is set"
        lines.append(f"Web: {status.web} (its token: {where})")
    if status.watches:
        lines += ["Watched:", *(f"- {name}: {seen}" for name, seen in status.watches.items())]
    if status.dead:
        lines.append(f"Undelivered: {status.dead} (`outbox list` shows them)")
    return "\n".join(lines)


class ModelStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The model that answers in a session; `changed` by this call."""

    session_key: str
    model: str
    changed: bool


class _ChangeModel(Arguments, frozen=True, kw_only=True):
    name: Annotated[First, Meta(description="PROVIDER/MODEL, or default; nothing: show it.")] = ""
    session: Here = ""


async def _model(operations: OperationContext, caller: Caller, asked: _ChangeModel) -> ModelStatus:
    engine = operations.engine
    row = await engine.journal.session(asked.session)
    if not asked.name:
        profile = await engine.describe_model(row.model if row else None)
        return ModelStatus(session_key=asked.session, model=profile.label, changed=False)
    if caller.role is not Role.OWNER:
        raise UsageError("Only owners change the model.")
    label = None if asked.name == "default" else asked.name
    profile = await engine.describe_model(label)
    await engine.journal.set_model(asked.session, label)
    return ModelStatus(session_key=asked.session, model=profile.label, changed=True)


def _model_text(model: ModelStatus, _: float) -> str:
    if model.changed:
        return f"From the next model call on, {model.model} answers in this session."
    return (
        f"{model.model} answers here. `/model PROVIDER/MODEL` changes it for this session, "
        "`/model default` goes back to the configured one."
    )


STANDING: tuple[Operation, ...] = (
    Operation(
        name="status",
        help="shows the model, the session and what runs",
        run=_status,
        arguments=_InSession,
        returns=Status,
        text=_status_text,
        role=Role.MEMBER,
    ),
    Operation(
        name="model",
        help="shows or changes the model",
        run=_model,
        arguments=_ChangeModel,
        returns=ModelStatus,
        text=_model_text,
        role=Role.MEMBER,
        command="sessions model",
    ),
)
