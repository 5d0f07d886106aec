"""Numbers from a platform or its users: any may be absurd, and none may stop a channel."""

from __future__ import annotations

import math

LONGEST_WAIT = 86_400.0
"""Seconds; no platform means a longer pause, and a bot that obeyed one would be gone."""
_LAST_MOMENT = 253_402_300_799.0  # 9999-12-31T23:59:59Z
_LARGEST_SIZE = 2**53 - 1


def seconds(value: object, *, per_second: float = 1.0) -> float | None:
    """The pause that a server requests, at most a day, of which the value counts `per_second`; None
    if it does not say, also for a pause of nothing.
    """
    number = _finite(value)
    wait = 0.0 if number is None else number / per_second
    return min(wait, LONGEST_WAIT) if wait > 0 else None


def moment(value: object, otherwise: float, *, per_second: float = 1.0) -> float:
    """A time in Unix seconds, of which the value counts `per_second`; `otherwise` for a value
    outside of 1970 to 9999.
    """
    number = _finite(value)
    usable = number is not None and 0 < number / per_second <= _LAST_MOMENT
    return number / per_second if number is not None and usable else otherwise


def size(value: object) -> int:
    """The size of a file in bytes; 0 for an invalid size."""
    number = _finite(value)
    return int(number) if number is not None and 0 < number <= _LARGEST_SIZE else 0


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
