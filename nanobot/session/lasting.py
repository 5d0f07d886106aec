"""The port to what is known beyond a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nanobot.session.provenance import Provenance
from nanobot.session.store_write import StoreWrite


class LastingFacts(Protocol):
    """Keeps facts that conversations lead to, each in a scope (see `scope_of`), and tells them."""

    async def keep(
        self, scope: str, facts: Sequence[str], origin: Provenance
    ) -> tuple[StoreWrite, ...]:
        """The writes that keep the new ones of these facts within the caller's transaction. If
        that is not possible, nothing is kept. Raises StoreError.
        """
        ...

    async def filed(self, scope: str) -> None:
        """Called after the commit of these writes. Raises StoreError."""
        ...

    async def known(self, scope: str) -> str:
        """The most important facts of a scope; "" if there are none. Raises NanobotError."""
        ...
