"""The SessionManager: a program's view of sessions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot.bus.core import Bus
from nanobot.plugins.library.openai_messages import FunctionCall, OpenAIMessage, RequestedCall
from nanobot.providers.base import ToolCall
from nanobot.session.entries import Entry, PostEntry, ReplyEntry, ToolResultEntry, UserEntry


class Session(msgspec.Struct, frozen=True):
    """A view of a session at one moment: `history` are its messages in OpenAI's form."""

    key: str
    history: tuple[OpenAIMessage, ...] = ()


class SessionManager:
    """Reads the sessions of a bus. Everything comes from the log; nothing is cached."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    async def get_or_create(self, key: str) -> Session:
        """The current session. A session without messages is empty, and is created by its first
        message."""
        return Session(key, tuple(as_messages(await self.bus.journal.history(key))))


def as_messages(entries: Sequence[Entry]) -> list[OpenAIMessage]:
    """The messages and tool results; every result follows its call."""
    messages: list[OpenAIMessage] = []
    calls: dict[tuple[str, int, int], str] = {}
    for entry in entries:
        body = entry.body
        if isinstance(body, UserEntry):
            messages.append({"role": "user", "content": body.text})
        elif isinstance(body, PostEntry):
            messages.append({"role": "assistant", "content": body.text})
        elif isinstance(body, ReplyEntry):
            message: OpenAIMessage = {"role": "assistant", "content": body.text}
            if body.tool_calls:
                ids = [f"call_{entry.seq}_{n}" for n in range(len(body.tool_calls))]
                calls |= {(entry.run_id, body.call, n): number for n, number in enumerate(ids)}
                pairs = zip(ids, body.tool_calls, strict=True)
                message["tool_calls"] = [_call(identity, call) for identity, call in pairs]
            messages.append(message)
        elif isinstance(body, ToolResultEntry):
            identity = calls.get((entry.run_id, body.call, body.index), "")
            messages.append({"role": "tool", "tool_call_id": identity, "content": body.text})
    return messages


def _call(identity: str, call: ToolCall) -> RequestedCall:
    function = FunctionCall(name=call.name, arguments=call.arguments)
    return {"id": identity, "type": "function", "function": function}
