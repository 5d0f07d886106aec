"""Auxiliary calls after a run, charged to that run's account."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.providers.base import Usage
from nanobot.session.auxiliary import AuxiliaryCall, NoReservation, Reservation
from nanobot.session.store_write import StoreWrite
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import log, runs
from nanobot.store.unit import Unit, start_auxiliary, start_retry
from nanobot.store.verbs import SqlStore, transaction

_r = schema.runs


class SqlAfterRuns(SqlStore):
    """Reserved, retried and settled like calls of the run. A run that was deleted in the meantime
    has no account.
    """

    @transaction("remembering")
    def reserve(
        self, unit: Unit, session_key: str, run_id: str, call: AuxiliaryCall
    ) -> Reservation:
        lane = log.lane_of(unit, session_key)
        run = unit.execute(sa.select(_r).where(_r.c.id == run_id)).first()
        if run is None:
            return NoReservation(call.max_tokens)
        return start_auxiliary(unit, lane, runs.as_run(run), call)

    @transaction("remembering")
    def retry(self, unit: Unit, session_key: str, run_id: str, discarded: Usage) -> None:
        run = unit.execute(sa.select(_r).where(_r.c.id == run_id)).first()
        if run is not None:
            lane = log.lane_of(unit, session_key)
            start_retry(unit, lane, runs.as_run(run), discarded)

    @transaction("forgone")
    def settle(self, connection: Connection, call: StoreWrite) -> None:
        call.write(connection)
