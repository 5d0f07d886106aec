"""What the plugin offers over the store of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.plugins.quarantine.content import Quarantine
from nanobot.plugins.quarantine.store.repository import SqlQuarantine
from nanobot.plugins.quarantine.store.telling import Telling
from nanobot.session.quarantine import UnreadableRows
from nanobot.store.opening import Store
from nanobot.store.quarantine.guard import Care


def objects(store: Store) -> Mapping[Any, Any]:
    """The rows for operations and lists, and the notices."""
    rows = SqlQuarantine(store.database, store.writer)
    return {Quarantine: rows, UnreadableRows: rows, Care: Telling()}
