"""Untrusted text on one line: no line breaks and no terminal control sequences."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def plain(text: str) -> str:
    """The text without control characters, including line breaks."""
    return _CONTROLS.sub(" ", text)
