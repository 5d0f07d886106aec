"""The one message that summarizes several held-back messages, and how the outbox identifies it."""

from __future__ import annotations

DIGEST = "digest:"
"""The prefix of the keys of digests."""
LINE_CHARS = 120


def begun(text: str) -> str:
    """The beginning of a text, on one line and without Markdown formatting."""
    plain = " ".join(text.split())
    plain = "".join(letter for letter in plain if letter not in "`*|#>[]<")
    return plain if len(plain) <= LINE_CHARS else f"{plain[:LINE_CHARS].rstrip()}..."
