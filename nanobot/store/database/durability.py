"""Which commits wait for the disk.

A commit that does not wait is in the file's log and survives a killed process. Only a power cut can
take it, and then everything after it too: SQLite replays its log in order up to the first frame
that is damaged. So the next commit that waits makes all before it durable
(https://www.sqlite.org/pragma.html#pragma_synchronous, NORMAL and FULL in WAL mode).
"""

from __future__ import annotations

from collections.abc import Iterable

ORDERED = frozenset(
    {
        "claim",  # the message waits again, and is claimed again
        "take_inbound",  # likewise, for programs that answer messages themselves
        "take_pending",  # likewise, for what joins a run
        "start_model",  # the model is asked again; what was reserved for the call is lost
        "start_auxiliary",
        "start_retry",
        "receipt",  # the send counts as one of unknown outcome: looked up, or marked as a repeat
        "release",  # the lease expires
        "index",  # the words are taken from the log again
    }
)
"""The verbs whose loss a start can make up for: nothing outside happened that no log knows of."""


def waits(verbs: Iterable[str]) -> bool:
    """Whether a transaction of these verbs waits for the disk. One without a name does."""
    return not all(verb in ORDERED for verb in verbs)
