"""Verified logs as people see them."""

from __future__ import annotations

import msgspec


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    """A session with a valid chain. Keep `head` (hex) to prove later that nothing before it
    changed."""

    session_key: str
    entries: int
    head: str
