"""The names of a conversation's requests, which begin alike: what is known is not hashed again."""

from __future__ import annotations

import hashlib

import msgspec

from nanobot.providers.base import ChatMessage, ModelRequest, ToolSpec


class RequestNames:
    """Names requests by the hash of their bytes, pictures by the names of their contents. Any may
    follow any other; those of one conversation take less time."""

    def __init__(self) -> None:
        self._small, self._head, self._tail = b"", b"", b""
        self._tools: tuple[ToolSpec, ...] = ()
        self._messages: tuple[ChatMessage, ...] = ()
        self._hash = hashlib.sha256()

    def of(self, request: ModelRequest) -> str:
        """The name of a request."""
        small = msgspec.json.encode(msgspec.structs.replace(request, messages=(), tools=()))
        if small != self._small or request.tools is not self._tools:
            others = msgspec.json.encode(msgspec.structs.replace(request, messages=()))
            before, field, self._tail = others.partition(b'"messages":[')  # in a text, " is escaped
            self._small, self._tools = small, request.tools
            self._head, self._messages = before + field, ()
        known = len(self._messages)
        if not known or request.messages[:known] != self._messages:
            self._messages, self._hash, known = (), hashlib.sha256(self._head), 0
        if added := msgspec.json.encode(request.messages[known:])[1:-1]:
            self._hash.update(b"," + added if known else added)
            self._messages = request.messages
        whole = self._hash.copy()
        whole.update(self._tail)
        return whole.hexdigest()
