"""Others' words on one line: nothing in them ends the line or speaks to a terminal."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def plain(text: str) -> str:
    """The text without control characters, line ends among them."""
    return _CONTROLS.sub(" ", text)
