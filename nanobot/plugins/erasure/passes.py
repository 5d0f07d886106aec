"""Passes over many things, each of which may fail alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nanobot.boundary import boundary


class Pass:
    """One pass: `failed` says what failed, and why."""

    def __init__(self) -> None:
        self.failed: dict[str, Exception] = {}

    @contextmanager
    def each(self, what: str) -> Iterator[None]:
        """Contain a failure within: it is named, and the pass continues."""
        with boundary(what) as caught:
            yield
        if caught.error is not None:
            self.failed[what] = caught.error
