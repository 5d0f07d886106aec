"""The leases of a shared store: how long they last, how often they are renewed, when one gives up.

Two thirds of a lease without an answer of the store, and its holder lets go: the last third is for
what is under way to end. Until then there is time for two renewals, at four fifteenths each.
"""

from __future__ import annotations

from typing import NamedTuple


class LeaseTerms(NamedTuple):
    """Seconds of a lease, between renewals, and from the last one to giving up."""

    seconds: float
    renew: float
    give_up: float


def _lasting(seconds: float) -> LeaseTerms:
    return LeaseTerms(seconds, renew=seconds * 4 / 15, give_up=seconds * 2 / 3)


LANE = _lasting(12.0)
"""While it runs out after a crash nobody answers. It is renewed only while a lane is in use."""
CHANNEL = LeaseTerms(16.0, renew=7.5, give_up=11.0)
"""A process that does nothing renews this one, so rarely that it costs next to nothing. After a
kill nobody waits for its end: the lock that the process held is gone."""
CHAT = _lasting(9.0)
"""While it runs out after a crash the chat gets nothing. It is renewed only while it is used."""
