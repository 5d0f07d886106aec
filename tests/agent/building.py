"""Logs by hand: short ways to write entries down."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from nanobot.messages import Address, Role
from nanobot.providers.base import FinishReason, ModelProfile, ToolCall
from nanobot.session.entries import (
    Body,
    Entry,
    ModelCallEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
    UserEntry,
)

RUN = "run-1"
PROFILE = ModelProfile(name="m", provider="p")


def user(text: str = "hello", *, steered: bool = False, sent_at: float = 1.8e9) -> UserEntry:
    return UserEntry(
        text=text,
        address=Address("fake", "1"),
        sender_id="1001",
        role=Role.OWNER,
        sent_at=sent_at,
        inbound_id=1,
        steered=steered,
    )


def asking(call: int, profile: ModelProfile = PROFILE, *, window_from: int = 1) -> ModelCallEntry:
    return ModelCallEntry(
        call=call,
        prompt="digest",
        window_from=window_from,
        profile=profile,
        estimate=100,
        temperature=0.7,
        max_tokens=1_000,
    )


def reply(
    call: int,
    text: str = "",
    *tools: str | ToolCall,
    finish: FinishReason | None = None,
    ms: int = 0,
    partial: bool = False,
) -> ReplyEntry:
    calls = tuple(
        ToolCall(f"id{n}", t, "{}") if isinstance(t, str) else t for n, t in enumerate(tools)
    )
    return ReplyEntry(
        call=call,
        text=text,
        tool_calls=calls,
        finish_reason=finish or ("tool_calls" if calls else "stop"),
        ms=ms,
        partial=partial,
    )


def started(call: int, index: int = 0, name: str = "exec") -> ToolStartedEntry:
    return ToolStartedEntry(call=call, index=index, name=name)


def result(
    call: int, index: int = 0, text: str = "ok", *, name: str = "look", ms: int = 0
) -> ToolResultEntry:
    return ToolResultEntry(call=call, index=index, name=name, text=text, ms=ms)


def tool_call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("", name, msgspec.json.encode(arguments).decode())


def log(*bodies: Body | None, run_id: str = RUN, first: int = 1) -> list[Entry]:
    return [Entry(seq, run_id, 0.0, body) for seq, body in enumerate(bodies, first)]


def joined(parts: Iterable[tuple[str, Iterable[Body]]]) -> list[Entry]:
    """Several runs, one after another, in one log."""
    entries: list[Entry] = []
    for run_id, bodies in parts:
        entries += log(*bodies, run_id=run_id, first=len(entries) + 1)
    return entries
