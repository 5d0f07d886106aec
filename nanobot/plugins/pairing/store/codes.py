"""Pairing codes, which strangers receive."""

from __future__ import annotations

from nanobot.errors import NanobotError

ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Without characters that are easily confused: I, L, O, 0 and 1."""

_SIZE = 8


def code_of(random: bytes) -> str:
    """A code from random bytes, in two groups."""
    number, letters = int.from_bytes(random, "big"), []
    for _ in range(_SIZE):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    text = "".join(letters)
    return f"{text[:4]}-{text[4:]}"


def spelled(code: str) -> str:
    """The stored form of a code that a person typed. Raises NanobotError if it is not a code."""
    letters = [c for c in code.upper() if c.isalnum()]
    if len(letters) != _SIZE:
        raise NanobotError(f"{code[:40]!r} is not a pairing code: those look like ABCD-EFGH.")
    text = "".join(letters)
    return f"{text[:4]}-{text[4:]}"
