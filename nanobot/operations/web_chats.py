"""The chats of the page: in which of them the answers of a session are shown."""

from __future__ import annotations

from nanobot.errors import UsageError
from nanobot.messages import WEB

_FOREIGN = "="


def chat_of(session_key: str) -> str:
    """The chat of the page in which a session's answers are shown: that of a session of its own has
    its name. Raises UsageError for a name that no session of the page can have."""
    channel, _, name = session_key.partition(":")
    if channel != WEB:
        return _FOREIGN + session_key
    if not name or name.startswith(_FOREIGN):
        raise UsageError("a conversation of the page is called web:NAME")
    return name


def session_of(chat_id: str) -> str:
    """The session whose answers are shown in a chat."""
    if chat_id.startswith(_FOREIGN):
        return chat_id.removeprefix(_FOREIGN)
    return f"{WEB}:{chat_id}"
