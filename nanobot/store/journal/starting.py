"""A message that finds its lane free: its run begins in the transaction that admits it."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.errors import Fenced
from nanobot.session.inbox import Admission
from nanobot.session.runs import Claim, Lane, NewRun
from nanobot.store.database import message_tables as schema
from nanobot.store.database.dialect import NumberedInsert
from nanobot.store.database.prepared import Values
from nanobot.store.held_lanes import Hold
from nanobot.store.journal import claiming, inbox, lanes, runs
from nanobot.store.unit import Unit


class Start(msgspec.Struct, frozen=True):
    """The run that may begin, and who would hold its lane."""

    hold: Hold
    new: NewRun


class LaneAtHand:
    """The lane of a message that is being admitted. It asks for everything when it is created, so
    that PostgreSQL answers together with the reads of the admission."""

    def __init__(self, unit: Unit, key: str, start: Start) -> None:
        self._unit, self._key, self._start = unit, key, start
        self._locked = lanes.ask_at_hand(unit, key)
        self._live = runs.LIVE.execute(unit, k=key)
        self._new = NumberedInsert(unit, schema.inbound)

    def is_free(self) -> bool:
        """Whether nobody holds the lane and no run is live in it. The session exists by now."""
        if self._live.first() is not None:
            return False
        if self._locked.first() is None:  # a new session, or another transaction is at it
            self._locked = lanes.ask_at_hand(self._unit, self._key)
        session = self._locked.first()
        if session is None:
            return False
        unit = self._unit
        return not lanes.in_use(unit, self._key, session, lanes.now_of(unit, session))

    def begin(self, admission: Admission, row: Values) -> tuple[int, Claim]:
        """Insert the message's row as taken by a new run, and claim the free lane for it. Returns
        the row's id, too. Raises Fenced if the message is known by now."""
        unit, start = self._unit, self._start
        session: Any = self._locked.first()
        message = admission.message
        run_id = claiming.own_id(unit, message, start.new.id)
        taken = {**row, "state": "taken", "run_id": run_id}
        known = Fenced("another process admitted this message")
        identity = self._new.insert(taken, known)
        lane = Lane(self._key, session.token + 1)
        lanes.own(unit, start.hold, lane, lanes.now_of(unit, session))
        pending = inbox.Pending(identity, admission.role, 0.0, message, at=row["at"])
        run, own = claiming.begin(unit, lane, run_id, [pending], start.new.zone, session)
        claim = claiming.claimed(unit, lane, run, session, own)
        if message.group and not claim.shared:  # this transaction has just noted it
            claim = msgspec.structs.replace(claim, shared=True)
        return identity, claim
