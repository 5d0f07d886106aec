"""Leases of a shared store: their length, renewal interval and give-up time.

The holder gives up when two thirds of a lease pass without a reply from the store. The last third
lets ongoing work end. Renewals are due every four fifteenths, so two fit before that.
"""

from __future__ import annotations

from typing import NamedTuple


class LeaseTerms(NamedTuple):
    """Seconds: the lease's length, between renewals, and from the last renewal until giving up."""

    seconds: float
    renew: float
    give_up: float


def _lasting(seconds: float) -> LeaseTerms:
    return LeaseTerms(seconds, renew=seconds * 4 / 15, give_up=seconds * 2 / 3)


LANE = _lasting(12.0)
"""After a crash, the lane is not served until this expires. Renewed only while in use."""
CHANNEL = LeaseTerms(16.0, renew=7.5, give_up=11.0)
"""Held by idle processes too, so it is renewed rarely and costs next to nothing. After a kill it
need not expire: the lock that the process held is released."""
CHAT = _lasting(9.0)
"""After a crash, the chat gets no messages until this expires. Renewed only while in use."""
