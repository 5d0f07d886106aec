"""Which commits wait for the disk.

A commit that does not wait is in the file's log and survives a killed process. Only a power failure
can lose it, together with every later commit: SQLite replays its log in order up to the first
damaged frame. So the next commit that waits makes all earlier ones durable
(https://www.sqlite.org/pragma.html#pragma_synchronous, NORMAL and FULL in WAL mode).
"""

from __future__ import annotations

from collections.abc import Iterable

ORDERED = frozenset(
    {
        "claim",  # the message is pending again and is claimed again
        "take_inbound",  # likewise, for programs that answer messages themselves
        "take_pending",  # likewise, for messages that join a run
        "start_model",  # the model is called again; the reservation for the lost call is lost
        "start_auxiliary",
        "start_retry",
        "receipt",  # the send counts as having an unknown outcome: looked up, or marked as a repeat
        "release",  # the lease expires
        "index",  # the words are read from the log again
    }
)
"""The verbs whose loss the next start can repair: they record no external effect that is missing
from every log.
"""


def verbs_of(name: str) -> list[str]:
    """The verbs of a transaction by its name: `first+second` is two in one."""
    return name.split("+")


def waits(names: Iterable[str]) -> bool:
    """Whether a transaction of these verbs waits for the disk. A transaction without a
    name does.
    """
    return not all(verb in ORDERED for name in names for verb in verbs_of(name))
