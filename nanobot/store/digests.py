"""The one message that tells of several that were held back: how it is known in the outbox."""

from __future__ import annotations

DIGEST = "digest:"
"""What the keys of digests begin with."""
LINE_CHARS = 120


def begun(text: str) -> str:
    """The beginning of a text, on one line and without what Markdown makes of it."""
    plain = " ".join(text.split())
    plain = "".join(letter for letter in plain if letter not in "`*|#>[]<")
    return plain if len(plain) <= LINE_CHARS else f"{plain[:LINE_CHARS].rstrip()}..."
