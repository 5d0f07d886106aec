"""The request of a model call: a pure function of the log, and what names its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from nanobot.agent.context import context
from nanobot.agent.entry_messages import Rendered
from nanobot.messages import RunOptions
from nanobot.providers.base import ChatMessage, ModelRequest
from nanobot.session.entries import Entry, ModelCallEntry
from nanobot.session.runs import PromptSnapshot


def request_of(
    visible: Sequence[Entry],
    snapshot: PromptSnapshot,
    call: ModelCallEntry,
    options: RunOptions,
    rendered: Rendered | None = None,
) -> ModelRequest:
    """What the model is sent over the entries that it may see, the call's own included."""
    profile = call.profile
    return ModelRequest(
        model=profile.name,
        messages=_with_history(options.history, context(visible, snapshot, call, rendered)),
        tools=snapshot.tools if profile.tools else (),
        temperature=call.temperature,
        max_tokens=call.max_tokens,
        effort=call.effort,
    )


def _with_history(
    history: Iterable[tuple[str, str]] | None, messages: tuple[ChatMessage, ...]
) -> tuple[ChatMessage, ...]:
    """The messages with these (role, text) pairs, which a program gave instead of the session's own
    history, after the system prompt."""
    if not history:
        return messages
    system, *rest = messages
    past = (
        ChatMessage(role="assistant" if role == "assistant" else "user", content=text)
        for role, text in history
    )
    return (system, *past, *rest)


def request_digest(request: ModelRequest) -> str:
    """The name of a request: the hash of its bytes, pictures by the names of their contents."""
    return hashlib.sha256(msgspec.json.encode(request)).hexdigest()
