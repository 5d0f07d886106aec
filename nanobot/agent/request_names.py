"""The names of a conversation's requests, which begin alike: what is known is not hashed again."""

from __future__ import annotations

import hashlib

import msgspec

from nanobot.providers.base import ChatMessage, ModelRequest


class RequestNames:
    """Names requests by the hash of their bytes, pictures by the names of their contents. Any may
    follow any other; those of one conversation take less time."""

    def __init__(self) -> None:
        self._head = b""
        self._messages: tuple[ChatMessage, ...] = ()
        self._hash = hashlib.sha256()

    def of(self, request: ModelRequest) -> str:
        """The name of a request."""
        others = msgspec.json.encode(msgspec.structs.replace(request, messages=()))
        before, field, tail = others.partition(b'"messages":[')  # in a text, quotes are escaped
        head, known = before + field, len(self._messages)
        if head != self._head or request.messages[:known] != self._messages:
            self._head, self._messages, self._hash, known = head, (), hashlib.sha256(head), 0
        if added := msgspec.json.encode(request.messages[known:])[1:-1]:
            self._hash.update(b"," + added if known else added)
            self._messages = request.messages
        whole = self._hash.copy()
        whole.update(tail)
        return whole.hexdigest()
