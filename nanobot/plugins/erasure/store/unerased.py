"""What is recorded in a store as not erased yet, also while a gateway uses it."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.store.at_rest import reading
from nanobot.plugins.common.store.erasures import (
    ARCHIVED,
    PLUGIN,
    SESSION,
    InArchive,
    InPlugin,
    erasures,
)
from nanobot.plugins.common.store.inspection import inspect
from nanobot.store.database.migrate import OURS

_x = erasures


def unerased(url: str) -> list[str]:
    """What waits to be erased, for people. Empty if there is no store, or one
    of another version. Raises StoreError."""
    if inspect(url).revision != OURS.head:
        return []
    with reading(url) as connection:
        rows = connection.execute(sa.select(_x.c.kind, _x.c.name)).all()
    shown = sorted(_shown(kind, name) for kind, name in rows)
    copies = shown.count("")
    named = list(dict.fromkeys(shown[copies:]))
    return [*named, *([f"{copies} copies in files, quotes and indexes"] if copies else [])]


def _shown(kind: str, name: str) -> str:
    """What is named for people; "" for copies, and for what cannot be read."""
    if kind == SESSION:
        return f"the conversation {name}"
    with suppress(msgspec.DecodeError):
        if kind == PLUGIN:
            place = msgspec.json.decode(name, type=InPlugin)
            return f"what the plugin {place.plugin} keeps of {place.session_key}"
        if kind == ARCHIVED:
            return f"the archive of {msgspec.json.decode(name, type=InArchive).session_key}"
    return ""
