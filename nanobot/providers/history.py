"""A history that the caller of a run supplies instead of the session's own."""

from __future__ import annotations

from collections.abc import Iterable

from nanobot.providers.base import ChatMessage


def with_history(
    history: Iterable[tuple[str, str]] | None, messages: tuple[ChatMessage, ...]
) -> tuple[ChatMessage, ...]:
    """The messages with these (role, text) pairs after the system prompt."""
    if not history:
        return messages
    system, *rest = messages
    past = (
        ChatMessage(role="assistant" if role == "assistant" else "user", content=text)
        for role, text in history
    )
    return (system, *past, *rest)
