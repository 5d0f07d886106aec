"""The operation that shows the state of the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from nanobot.errors import NanobotError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import SessionArgument
from nanobot.operations.rendering import Now
from nanobot.operations.run_states import as_people_see
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.session.states import RunState
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.common.store.counts import Counts

_MOST_TROUBLES = 20


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the gateway and of one session."""

    version: str
    home: str
    serving: bool
    """False: no gateway runs in this home."""
    pid: int
    uptime: float
    channels: dict[str, str]
    web: str
    watches: dict[str, str] = {}
    """For owners only."""
    role: str = "all"
    """The role of this process, if several share a store."""
    troubles: list[Sentence] = []
    """Recent failures, for owners only."""
    model: str
    session_key: str
    entries: int
    run: str | None
    """The session's live one."""
    run_state: RunState | None
    waiting: int
    running: int
    owed: int
    dead: int
    unreadable: int = 0


def _status_text(status: Status, _: Now) -> Sentence:
    now = "idle"
    if status.run_state is not None:
        now = f"{as_people_see(status.run_state)} ({status.run})"
    lines = [
        f"Model: {status.model}",
        f"Session: {status.session_key}",
        "Log: 1 entry" if status.entries == 1 else f"Log: {status.entries} entries",
        f"Now: {now}, {status.waiting} waiting",
    ]
    if status.serving:
        role = "" if status.role == "all" else f" ({status.role})"
        lines.append(f"Gateway{role}: up {status.uptime / 60:.0f} min, {status.running} running")
    else:
        lines.append("Gateway: not running")
    if status.channels:
        states = ", ".join(f"{name} {state}" for name, state in status.channels.items())
        lines.append(f"Channels: {states}")
    if status.web:
        lines.append(f"Web: {status.web}")
    if status.watches:
        lines += ["Watched:", *(f"- {name}: {seen}" for name, seen in status.watches.items())]
    if status.troubles:
        lines += ["Failing:", *(f"- {trouble}" for trouble in status.troubles)]
    if status.dead:
        lines.append(f"Undelivered: {status.dead} (`outbox list` shows them)")
    if status.unreadable:
        lines.append(f"Unreadable: {status.unreadable} (`nanobot db quarantine list` names them)")
    return "\n".join(lines)


async def counts_of(context: OperationContext) -> Counts:
    """How much is in the store."""
    from nanobot.plugins.common.store.counts import StoreCounts  # noqa: PLC0415 - loads the store

    return await StoreCounts.over(context.engine.records).counts()


@operation("status", reads=True, role=Role.MEMBER, text=_status_text)
async def show_status(
    context: OperationContext, caller: Caller, session: SessionArgument = ""
) -> Status:
    """Show the model, the session and the running work."""
    engine = context.engine
    row = await engine.journal.session(session)
    facts, counts = context.of(GatewayFacts).now(), await counts_of(context)
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
        role=facts.role,
        watches=dict(facts.watches) if shown else {},
        troubles=list(facts.troubles[-_MOST_TROUBLES:]) if shown else [],
        model=model,
        session_key=session,
        entries=row.entries if row else 0,
        run=live.id if live else None,
        run_state=live.state if live else None,
        waiting=row.waiting if row else 0,
        running=len(engine.running()),
        owed=counts.owed,
        dead=counts.dead,
        unreadable=counts.unreadable,
    )
