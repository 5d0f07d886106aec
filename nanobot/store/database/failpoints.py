"""A test aid: kill this process at a chosen verb of the Journal (NANOBOT_CRASH_AT)."""

from __future__ import annotations

import os
import signal

import msgspec

from nanobot.errors import ConfigError
from nanobot.store.database.durability import verbs_of
from nanobot.text import pattern

_TEXT = pattern(r"(?P<verb>[a-z_]+)(:(?P<nth>[1-9][0-9]*))?(:(?P<when>before|after))?")


class Failpoint(msgspec.Struct, frozen=True):
    """Kill this process (SIGKILL) at the nth time it reaches a verb."""

    verb: str
    nth: int
    after: bool

    @classmethod
    def parse(cls, text: str) -> Failpoint | None:
        """Parse `verb[:n][:before|after]`; an empty string means no crash point."""
        if not text:
            return None
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ConfigError(f"NANOBOT_CRASH_AT={text!r} is not verb[:n][:before|after]")
        return cls(match["verb"], int(match["nth"] or 1), match["when"] == "after")


class Failpoints:
    """Counts the verbs and kills the process at the crash point."""

    def __init__(self, point: Failpoint | None = None) -> None:
        self._point = point
        self._seen = 0

    def before(self, verb: str) -> None:
        """Called before a verb's transaction begins."""
        self._reach(verb, after=False)

    def after(self, verb: str) -> None:
        """Called once a verb is committed, before any listener is notified."""
        self._reach(verb, after=True)

    def _reach(self, verb: str, *, after: bool) -> None:
        # Each side has its own counter: when verbs are committed together, every "before" precedes
        # the first "after".
        point = self._point
        if point is not None and point.verb in verbs_of(verb) and after == point.after:
            self._seen += 1
            if self._seen == point.nth:
                os.kill(os.getpid(), signal.SIGKILL)
