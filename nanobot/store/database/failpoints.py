"""A test aid: kill this process at a chosen verb of the Journal (NANOBOT_CRASH_AT)."""

from __future__ import annotations

import os
import signal

from nanobot.errors import ConfigError
from nanobot.store.database.durability import verbs_of
from nanobot.text import pattern

_TEXT = pattern(r"([a-z_]+)(?::([1-9][0-9]*))?(?::(before|after))?")


class Failpoints:
    """Counts the verbs, and kills this process (SIGKILL) the nth time it reaches the one that is
    named as `verb[:n][:before|after]`; never, for an empty text."""

    def __init__(self, text: str = "") -> None:
        match = _TEXT.fullmatch(text)
        if text and match is None:
            raise ConfigError(f"NANOBOT_CRASH_AT={text!r} is not verb[:n][:before|after]")
        verb, number, side = match.groups() if match else ("", None, None)
        self.verb: str = verb
        self.left, self.side = int(number or 1), side or "before"

    def before(self, verb: str) -> None:
        """Called before a verb's transaction begins."""
        self._reach(verb, "before")

    def after(self, verb: str) -> None:
        """Called once a verb is committed, before any listener is notified."""
        self._reach(verb, "after")

    def _reach(self, verb: str, side: str) -> None:
        # Each side has its own counter: when verbs are committed together, every "before" precedes
        # the first "after".
        if self.verb and side == self.side and self.verb in verbs_of(verb):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
