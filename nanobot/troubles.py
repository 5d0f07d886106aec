"""Troubles: recent failures in this process, for `doctor` and for owners."""

from __future__ import annotations

import time
from threading import Lock

from nanobot.text import Sentence, clean

RECENT_SECONDS = 1_800.0
"""A trouble that has not recurred for this long is over: no work waits longer between retries."""
_MOST = 200
_MOST_CHARS = 300


class Trouble:
    """A failing work, its error, and the number of failures in a row."""

    def __init__(self, what: Sentence) -> None:
        self.what = what
        self.error = ""
        self.count = 0
        self.certain = False
        """Not by chance: it is reported after the first failure."""
        self.at = 0.0

    def __str__(self) -> Sentence:
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"{self.what} failed {times}: {self.error}"


class Troubles:
    """The latest troubles of all threads, by name, up to a maximum."""

    def __init__(self) -> None:
        self._known: dict[str, Trouble] = {}
        self._lock = Lock()

    def note(self, what: str, error: BaseException, *, certain: bool = False) -> None:
        """Record a failure; `certain`: it will recur until a person acts."""
        with self._lock:
            trouble = self._known.pop(what, None) or Trouble(clean(what))
            text = " ".join(str(error).split()) or type(error).__name__
            trouble.error = clean(text)[:_MOST_CHARS]
            trouble.count += 1
            trouble.certain = certain
            trouble.at = time.monotonic()
            self._known[what] = trouble
            while len(self._known) > _MOST:
                del self._known[next(iter(self._known))]

    def over(self, what: str) -> None:
        """Record a success."""
        if what in self._known:
            with self._lock:
                self._known.pop(what, None)

    def recent(self, least: int = 1) -> list[Trouble]:
        """Recent troubles with at least this many failures in a row, or certain; the
        latest last."""
        since = time.monotonic() - RECENT_SECONDS
        with self._lock:
            return [
                trouble
                for trouble in self._known.values()
                if (trouble.count >= least or trouble.certain) and trouble.at >= since
            ]


TROUBLES = Troubles()
"""The troubles of this process, from every boundary."""
