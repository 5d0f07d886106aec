"""What a line of the log belongs to: the run that is worked on where the line is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TypeAlias

Ids: TypeAlias = Mapping[str, object]


def _none() -> Ids:
    return {}


LOG_IDS: ContextVar[Callable[[], Ids]] = ContextVar("LOG_IDS", default=_none)
"""Asked when a line is written, and only where lines carry ids. Tasks inherit it."""
