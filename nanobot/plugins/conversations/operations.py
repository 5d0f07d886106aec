"""The operations of the plugin."""

from __future__ import annotations

from nanobot.operations.operation import Operation
from nanobot.plugins.conversations.logs import export_session, list_sessions, show_session
from nanobot.plugins.conversations.marks import (
    archive_session,
    mark_read,
    pin_session,
    rename_session,
    unarchive_session,
    unpin_session,
)
from nanobot.plugins.conversations.notices import list_notices


def operations() -> list[Operation]:
    """What shows conversations first, then what marks them."""
    return [
        *(list_sessions, show_session, mark_read, export_session, list_notices),
        *(rename_session, pin_session, unpin_session, archive_session, unarchive_session),
    ]
