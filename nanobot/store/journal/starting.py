"""A message that finds its lane free: its run begins in the transaction that admits it."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import Fenced
from nanobot.session.inbox import Admission
from nanobot.session.runs import Claim, Lane, NewRun
from nanobot.store.database import message_tables as schema
from nanobot.store.database.dialect import NumberedInsert
from nanobot.store.database.prepared import Values
from nanobot.store.journal import claiming, inbox, lanes, runs
from nanobot.store.unit import Hold, StoreContext


class Start(msgspec.Struct, frozen=True):
    """The run that may begin, and who would hold its lane."""

    hold: Hold
    new: NewRun


class LaneAtHand:
    """The lane of a message that is being admitted. It asks for everything when it is created, so
    that PostgreSQL answers together with the reads of the admission."""

    def __init__(
        self, connection: sa.Connection, writer: StoreContext, key: str, start: Start
    ) -> None:
        self._connection, self._writer, self._key, self._start = connection, writer, key, start
        self._locked = lanes.ask_at_hand(connection, key)
        self._live = runs.LIVE.execute(connection, k=key)
        self._new = NumberedInsert(connection, schema.inbound)

    def is_free(self) -> bool:
        """Whether nobody holds the lane and no run is live in it. The session exists by now."""
        if self._live.first() is not None:
            return False
        if self._locked.first() is None:  # a new session, or another transaction is at it
            self._locked = lanes.ask_at_hand(self._connection, self._key)
        session = self._locked.first()
        if session is None:
            return False
        now = lanes.now_of(self._writer, session)
        return not lanes.in_use(self._writer, self._key, session, now)

    def begin(self, admission: Admission, row: Values) -> tuple[int, Claim]:
        """Insert the message's row as taken by a new run, and claim the free lane for it. Returns
        the row's id, too. Raises Fenced if the message is known by now."""
        connection, writer, start = self._connection, self._writer, self._start
        session: Any = self._locked.first()
        message = admission.message
        run_id = claiming.own_id(connection, message, start.new.id)
        taken = {**row, "state": "taken", "run_id": run_id}
        known = Fenced("another process admitted this message")
        identity = self._new.insert(taken, known)
        lane = Lane(self._key, session.token + 1)
        lanes.own(connection, writer, start.hold, lane, lanes.now_of(writer, session))
        pending = inbox.Pending(identity, admission.role, 0.0, message, at=row["at"])
        run, own = claiming.begin(
            connection, writer, lane, run_id, [pending], start.new.zone, session
        )
        claim = claiming.claimed(connection, lane, run, session, own)
        if message.group and not claim.shared:  # this transaction has just noted it
            claim = msgspec.structs.replace(claim, shared=True)
        return identity, claim
