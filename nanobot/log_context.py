"""What a line of the log and a request belong to: the run that is worked on where they are made.
And the log itself, for modules that `nanobot --help` loads, too, and that seldom write a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from loguru import Logger

Ids: TypeAlias = Mapping[str, object]
Headers: TypeAlias = Mapping[str, str]
NO_HEADERS: Headers = {}


def _none() -> Ids:
    return {}


LOG_IDS: ContextVar[Callable[[], Ids]] = ContextVar("LOG_IDS", default=_none)
"""Asked when a line is written, and only where lines carry ids. Tasks inherit it."""


class Sending(Protocol):
    """What accompanies the requests of one run; a plugin decides."""

    def headers(self, key: str | None) -> Headers:
        """The headers for a request of the tool call with that key, "" for one that belongs to no
        call in the log, None for a model call of the run."""


SENDING: ContextVar[Sending | None] = ContextVar("SENDING", default=None)
CALL: ContextVar[str | None] = ContextVar("CALL", default=None)


@contextmanager
def calling(key: str) -> Iterator[None]:
    """Requests within this context belong to the tool call with this key."""
    before = CALL.set(key)
    try:
        yield
    finally:
        CALL.reset(before)


def sent() -> Headers:
    """The headers to add to a request that is made now."""
    sending = SENDING.get()
    return NO_HEADERS if sending is None else sending.headers(CALL.get())


def rarely_used_log() -> Logger:
    """The log, loaded with the first line."""
    from loguru import logger  # noqa: PLC0415 - 25 ms, which `nanobot --help` does not spend

    return logger
