"""What a line of the log belongs to: the run that is worked on where the line is written. And the
log itself, for modules that `nanobot --help` loads, too, and that seldom write a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from loguru import Logger

Ids: TypeAlias = Mapping[str, object]


def _none() -> Ids:
    return {}


LOG_IDS: ContextVar[Callable[[], Ids]] = ContextVar("LOG_IDS", default=_none)
"""Asked when a line is written, and only where lines carry ids. Tasks inherit it."""


def rarely_used_log() -> Logger:
    """The log, loaded with the first line."""
    from loguru import logger  # noqa: PLC0415 - 25 ms, which `nanobot --help` does not spend

    return logger
