"""Runs that wait for a person. The plugin `approvals` asks people and says how a wait ends
(`nanobot.store.unit.HumanWaits`)."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.session.approvals import Approval, NobodyReached, ParkResult
from nanobot.session.runs import Lane, Run
from nanobot.session.states import RunState
from nanobot.store.database import message_tables as schema
from nanobot.store.journal import log, runs
from nanobot.store.unit import Unit

_a = schema.approvals


def park(unit: Unit, lane: Lane, run: Run, approval: Approval) -> ParkResult:
    log.fence(unit, lane)
    if unit.writer.waits is None:
        return NobodyReached()
    return unit.writer.waits.park(unit, lane, run, approval)


def waits(unit: Unit, run: Run) -> float:
    """Seconds that a parked run still waits if nothing happens."""
    return 0.0 if unit.writer.waits is None else unit.writer.waits.waits(unit, run)


def go_on(unit: Unit, lane: Lane, run: Run) -> None:
    """Resume a parked run whose wait has ended. If nobody can decide, its call is judged again and
    refused; what was asked can still be decided where somebody can."""
    if unit.writer.waits is not None:
        unit.writer.waits.go_on(unit, lane, run)
        return
    asked = sa.update(_a).where(schema.APPROVAL_OPEN, _a.c.run_id == run.id)
    unit.execute(asked.values(state="detached"))
    runs.transition(unit, run, RunState.TOOL_RUNNING)
