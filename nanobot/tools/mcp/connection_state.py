"""What a connection's owner is told about it, from wherever that is noticed; how much a server may
say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from nanobot.errors import NanobotError

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Of one message of a server. Texts are cut far below that, lists of tools stay below it, and the
largest picture that models take is 7 MB as base64."""
MAX_MESSAGES = 2_000
SECONDS = 10.0
"""A server that sends more than MAX_MESSAGES within SECONDS is flooding, and is cut off."""


class ServerTrouble(NanobotError):
    """A server cannot be reached, started or understood. The text is for the owner."""


class ConnectionState:
    """One connection as its owner follows it: `news` is set when there is something to look at.
    `exposed` is why its program runs without the sandbox, empty if it does not. `words` are those
    of its program that may say why it does not work."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.why = ""
        self.exposed = ""
        self.words: Callable[[], str] = str

    @property
    def ended(self) -> bool:
        """Whether nothing more comes; `why` says the reason."""
        return bool(self.why)

    def end(self, why: str) -> None:
        """It is over; the first reason counts."""
        self.why = self.why or why
        self.news.set()

    def look(self) -> None:
        """The tools may have changed, or the server may be gone: somebody should ask it."""
        self.news.set()


class Pace:
    """Counts messages; says when they are a flood."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._count = 0

    def flooded(self, messages: int = 1) -> bool:
        """Whether these are too many, after those that came within the last SECONDS."""
        now = time.monotonic()
        if now - self._since > SECONDS:
            self._since, self._count = now, 0
        self._count += messages
        return self._count > MAX_MESSAGES
