"""Which contents an export leaves out: those of some kinds of entries, and those with a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from nanobot.errors import UsageError
from nanobot.plugins.proof.format import ERASED_KIND
from nanobot.session.entries import Body

EVERYTHING = "all"


class Redaction:
    """A choice of contents. Entries about erasures stay, because the proof needs them."""

    def __init__(self, kinds: str = "", matching: str = "") -> None:
        """`kinds`: with commas between them, or `all`. `matching`: a regular expression.
        Raises UsageError.
        """
        self._kinds = frozenset(word for each in kinds.split(",") if (word := each.strip()))
        known = sorted(str(kind.__struct_config__.tag) for kind in get_args(Body))
        known.remove(ERASED_KIND)
        for kind in sorted(self._kinds - {EVERYTHING, *known}):
            raise UsageError(
                f"redact: there is no kind of entry {kind[:80]!r}; write {EVERYTHING}, or some of "
                f"{', '.join(known)}"
            )
        try:
            self._matching = re.compile(matching) if matching else None
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(
                f"redact_matching: not a regular expression: {error}; quote special characters"
            ) from None

    def withholds(self, kind: str, payload: str) -> bool:
        """Whether the payload of an entry is left out."""
        if kind == ERASED_KIND:
            return False
        if EVERYTHING in self._kinds or kind in self._kinds:
            return True
        if self._matching is None:
            return False
        if self._matching.search(payload):
            return True
        return any(self._matching.search(text) for text in _texts(msgspec.json.decode(payload)))


def _texts(value: Any) -> Iterator[str]:
    """Each text in a payload, as it was before it became JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
