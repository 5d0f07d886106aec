"""What the gateway prints: lines for people, and the log, without anything that a terminal would
execute. The linter forbids printing anywhere but here and in what commands print.
"""

from __future__ import annotations

import sys

from nanobot.text import pattern

# Without its end it is not a sequence: the text behind it must not disappear.
_SEQUENCE = pattern(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)")
# Control characters except tab and newline, marks that change the writing direction, lone
# surrogates.
_UNWANTED = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# The styles that loguru uses. Excluded: hidden text, and black on black.
_COLOUR = pattern(r"(\x1b\[(?:[0124]|3[1-7]|41|9[0-7])m)")


def harmless(text: str) -> str:
    """The text without anything that a terminal would execute."""
    return _UNWANTED.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))


def say(line: str) -> None:
    """A line on standard output."""
    print(harmless(line), flush=True)


def warn(line: str = "") -> None:
    """A line on standard error."""
    print(harmless(line), file=sys.stderr, flush=True)


class LogStream:
    """Standard error for the log. With `colour` the log's own colours are kept."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def write(self, text: str) -> None:
        """A message as formatted by the log, all its lines."""
        # Every second part is a colour.
        parts = _COLOUR.split(text) if self._colour else [text]
        sys.stderr.write("".join(p if n % 2 else harmless(p) for n, p in enumerate(parts)))
        sys.stderr.flush()
