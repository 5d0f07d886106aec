"""The list of conversations of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.plugins.conversations.lists import ConversationList
from nanobot.plugins.conversations.store import SqlConversationList
from nanobot.store.opening import Store


def objects(store: Store) -> Mapping[Any, Any]:
    """The list, for operations."""
    return {ConversationList: SqlConversationList(store.database, store.writer)}
