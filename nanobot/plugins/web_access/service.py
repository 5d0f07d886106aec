"""Builds the credentials of a gateway."""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.http.access import Credentials
from nanobot.plugins.web_access.named import NamedAccess
from nanobot.plugins.web_access.store import SqlAccessTokens
from nanobot.ports import Clock
from nanobot.store.opening import Store


def objects(store: Store, clock: Clock) -> dict[Any, object]:
    """The credentials, for the operations, and for the HTTP server, which asks them."""
    named = NamedAccess(SqlAccessTokens(store.database, store.writer), clock)
    return {NamedAccess: named, Credentials: named}
