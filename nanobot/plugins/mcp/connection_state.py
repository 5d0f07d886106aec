"""The state of a connection, reported to its owner, and the limits on what a server may send."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from nanobot.errors import NanobotError

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The maximum size of one message from a server. Texts are cut far below that, lists of tools stay
below it, and the largest image that models accept is 7 MB as base64.
"""
MAX_MESSAGES = 2_000
SECONDS = 10.0
"""A server that sends more than MAX_MESSAGES within SECONDS is flooding, and is disconnected."""


class ServerTrouble(NanobotError):
    """A server cannot be reached, started or understood. The text is meant for the owner."""


class ConnectionState:
    """One connection as its owner sees it: `news` is set when there is something to check.
    `exposed`: why its program runs without the sandbox, "" if it does not. `words`: the program's
    output that may explain why it does not work. `session`: the id that a server gave it, if any.
    """

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.why = ""
        self.exposed = ""
        self.session = ""
        self.words: Callable[[], str] = str

    @property
    def ended(self) -> bool:
        """Whether the connection has ended; `why` is the reason."""
        return bool(self.why)

    def end(self, why: str) -> None:
        """End the connection; the first reason is kept."""
        self.why = self.why or why
        self.news.set()

    def look(self) -> None:
        """The tools may have changed, or the server may be gone: have it asked."""
        self.news.set()


class Pace:
    """Counts messages and detects a flood."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._count = 0

    def flooded(self, messages: int = 1) -> bool:
        """Whether these messages, with those of the last SECONDS, are too many."""
        now = time.monotonic()
        if now - self._since > SECONDS:
            self._since, self._count = now, 0
        self._count += messages
        return self._count > MAX_MESSAGES
