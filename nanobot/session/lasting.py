"""The port to what is known beyond a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot import labels
from nanobot.labels import Label, Privacy
from nanobot.session.store_write import StoreWrite


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a memory comes from: a run and the range of log entries it was drawn from, or only the
    file if a person wrote it there. `tainted`: untrusted content contributed to it.
    """

    session_key: str = ""
    run_id: str = ""
    first_seq: int | None = None
    last_seq: int | None = None
    file: str = ""
    tainted: bool = False
    label: str = ""

    @property
    def spoken(self) -> Label:
        """The label of the remembered text; at least the label of a person's words."""
        return labels.read(self.label, tainted=self.tainted).join(labels.of(privacy=Privacy.PERSON))


class LastingFacts(Protocol):
    """Keeps facts that conversations lead to, each in a scope (see `scope_of`), and tells them."""

    async def keep(
        self, scope: str, facts: Sequence[str], origin: Provenance
    ) -> tuple[StoreWrite, ...]:
        """The writes that keep the new ones of these facts within the caller's transaction. If
        that is not possible, nothing is kept. Raises StoreError.
        """

    async def filed(self, scope: str) -> None:
        """Called after the commit of these writes. Raises StoreError."""

    async def known(self, scope: str) -> str:
        """The most important facts of a scope; "" if there are none. Raises NanobotError."""
