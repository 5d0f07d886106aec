"""Which session an address shows, who reads it, and how people are called."""

from __future__ import annotations

from nanobot.errors import UsageError
from nanobot.messages import TERMINAL, WEB, Address

_FOREIGN = "="
OWNER_ID = "local"
"""The id of an owner at this machine or on the page, where no platform gives one."""
THE_OWNER = "the owner"
_NO_NAMES = ("", "you")
MEMBERS_CHAT = "~"
"""The first character of the chats that belong to a member or a guest."""


def called(name: str, person_id: str) -> str:
    """A person's name for people and the model. Without a name it is "the owner" for a person at
    this machine, and the id for others. Earlier versions stored "you" as a name."""
    if name not in _NO_NAMES:
        return name
    return THE_OWNER if person_id == OWNER_ID else person_id


def chat_of(session_key: str) -> str:
    """The chat of the page that shows a session's answers. A session that is not of the page has a
    chat with its name. Raises UsageError for a name that no session of the page can have."""
    channel, _, name = session_key.partition(":")
    if channel != WEB:
        return _FOREIGN + session_key
    if not name or name.startswith(_FOREIGN):
        raise UsageError("a conversation of the page is called web:NAME")
    return name


def session_of(chat_id: str) -> str:
    """The session whose answers a chat shows."""
    if chat_id.startswith(_FOREIGN):
        return chat_id.removeprefix(_FOREIGN)
    return f"{WEB}:{chat_id}"


def session_at(address: Address) -> str:
    """The session that logs messages sent to a chat unasked."""
    return session_of(address.chat_id) if address.channel == WEB else str(address)


def owners_alone(address: Address) -> bool:
    """Whether only owners read a chat: a terminal, or an owner's conversation on the page."""
    if address.channel == WEB:
        return not address.chat_id.startswith(MEMBERS_CHAT)
    return address.channel == TERMINAL
