"""What the model sees: a pure function of the log. It reads no file and no clock.

The same entries give the same bytes, and each call's messages begin with those of the call
before, so that provider caches hit. The window moves in steps, never by one message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from nanobot.addresses import called
from nanobot.agent.attachments import IMAGE_TOKENS, place, rendered, shown
from nanobot.messages import Origin
from nanobot.providers.base import ChatMessage, ModelProfile, Part, TextPart, ToolCall
from nanobot.session.entries import (
    Body,
    DeniedEntry,
    Entry,
    FailedEntry,
    ModelCallEntry,
    ObjectionEntry,
    PostEntry,
    RecallEntry,
    ReplyEntry,
    SummaryEntry,
    ToolResultEntry,
    ToolStartedEntry,
    UndeliveredEntry,
    UserEntry,
)
from nanobot.session.runs import PromptSnapshot

FULL = 0.8
"""The window is cut when the estimated prompt exceeds this share of the budget ..."""
KEEP = 0.5
"""... down to this one."""

_UNKNOWN = "interrupted, outcome unknown"
_NOT_MADE = "not executed: the run ended before"
_ELIDED = "(an older result, left out to fit the model's context; call again if it is needed)"
_TEXT_SHARE = 0.4
_HEADER_TOKENS = 20
_EMPTY = 4
"""Estimated tokens of an empty text."""
_QUOTED = 500
_NOTES = (FailedEntry, UndeliveredEntry, DeniedEntry, ObjectionEntry)
"""Entries shown to the model as notes from the gateway."""
_TEXTS = (PostEntry, RecallEntry, *_NOTES)
_MEANWHILE = (PostEntry, UndeliveredEntry, DeniedEntry)  # not written by the run
# Loops over the window compare types: entries have no subclasses, and isinstance costs twice that.
_UNSEEN = frozenset({ModelCallEntry, ToolStartedEntry})

_CallKey: TypeAlias = tuple[str, int, int]
"""Run, model call and index."""


class Window(msgspec.Struct, frozen=True):
    """The first entry that the model sees, and the estimated tokens from there."""

    start: int
    estimate: int


def estimate_tokens(text: str) -> int:
    """A model-independent guess: UTF-8 bytes over three, which holds for prose, code and CJK."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size // 3 + _EMPTY


class PromptBudget(msgspec.Struct, frozen=True, kw_only=True):
    """Room for a prompt. `fixed`: tokens of the system prompt and tools; `max_tokens`: reserved for
    the answer; `max_history`: messages before the current turn."""

    profile: ModelProfile
    fixed: int
    max_tokens: int
    max_history: int


def plan_window(
    entries: Sequence[Entry], start: int, room: PromptBudget, *, overflowed: bool
) -> Window:
    """Keep the window, or cut it at the beginning of a turn.

    It is cut if it is estimated over 80% of the budget, if it holds more than `max_history`
    messages before the current turn, or if the provider said it was too long. It is cut to half of
    the limit.
    """
    fixed, max_history = room.fixed, room.max_history
    budget = _budget(room.profile, room.max_tokens)
    scale = _correction(entries)
    sizes = _turn_sizes(entries, start, room.profile)
    total = sum([tokens for _, _, tokens in sizes]) * scale + fixed
    messages = sum([count for _, count, _ in sizes[:-1]])
    if total <= budget * FULL and messages <= max_history and not overflowed:
        return Window(start, int(total))
    target = min(budget, total) * KEEP if overflowed else budget * KEEP
    kept, kept_messages, begin = float(fixed), 0, start
    for position, (seq, count, tokens) in enumerate(reversed(sizes)):
        fits = kept + tokens * scale <= target and kept_messages + count <= max_history * KEEP
        if position > 0 and not fits:
            break
        kept, begin = kept + tokens * scale, seq
        kept_messages += count if position > 0 else 0
    return Window(begin, int(kept))


def _budget(profile: ModelProfile, max_tokens: int) -> int:
    return max(profile.context_tokens - min(max_tokens, profile.context_tokens // 2), 256)


def _correction(entries: Sequence[Entry]) -> float:
    """The provider's count of the last prompt relative to our estimate."""
    counted: list[int] = []
    for entry in reversed(entries):
        body = entry.body
        if isinstance(body, ReplyEntry) and body.usage is not None:
            counted.append(body.usage.prompt_tokens)
        elif isinstance(body, ModelCallEntry):
            ratios = (_ratio(count, body.estimate) for count in counted)
            if factor := next(filter(None, ratios), None):
                return factor
            counted.clear()
    return 1.0


def _ratio(counted: int, estimate: int) -> float | None:
    """None for small prompts: they are mostly overhead and say nothing about the rest."""
    if counted <= 0 or estimate <= 200:
        return None
    return max(min(counted, 2 * estimate) / estimate, 0.5)


def _turn_sizes(
    entries: Sequence[Entry], start: int, profile: ModelProfile
) -> list[tuple[int, int, int]]:
    """(first seq, messages, tokens) of each turn. A user message begins one, except in steering."""
    turns: list[tuple[int, int, int]] = []
    limit = _clip_limit(profile)
    pictures = shown(entries, start, profile)
    run_id = ""
    for entry in entries:
        if entry.seq < start or type(body := entry.body) in _UNSEEN:
            continue
        size = _size(body, limit)
        if size is None:
            continue
        if pictures and isinstance(body, (UserEntry, ToolResultEntry)):
            size += _picture_tokens(entry, body, pictures)
        if (type(body) is UserEntry and entry.run_id != run_id) or not turns:
            turns.append((entry.seq, 0, 0))
            run_id = entry.run_id
        seq, count, tokens = turns[-1]
        turns[-1] = (seq, count + 1, tokens + size)
    return turns


def _size(body: Body | None, limit: int) -> int | None:
    """Estimated tokens of an entry, without rendering it; None if it is not shown."""
    if type(body) is UserEntry:
        text = estimate_tokens(body.text) + (estimate_tokens(body.quote) if body.quote else _EMPTY)
        if body.attachments:
            text += _file_tokens(body)
        return min(text, limit // 3) + _HEADER_TOKENS
    if type(body) is ReplyEntry:
        if not (body.tool_calls or body.native):
            return estimate_tokens(body.text)
        arguments = [estimate_tokens(call.arguments) for call in body.tool_calls]
        native = estimate_tokens(body.native.content) if body.native else 0
        return max(estimate_tokens(body.text) + sum(arguments), native)
    if type(body) is ToolResultEntry:
        return estimate_tokens(body.text) + _file_tokens(body)
    if isinstance(body, _TEXTS):
        return estimate_tokens(body.text)
    return None


def _file_tokens(body: UserEntry | ToolResultEntry) -> int:
    return sum([estimate_tokens(file.text) + _HEADER_TOKENS for file in body.attachments])


def _picture_tokens(
    entry: Entry, body: UserEntry | ToolResultEntry, pictures: frozenset[int]
) -> int:
    places = (place(entry.seq, index) for index in range(len(body.attachments)))
    return IMAGE_TOKENS * sum(number in pictures for number in places)


def context(
    entries: Sequence[Entry], snapshot: PromptSnapshot, call: ModelCallEntry
) -> tuple[ChatMessage, ...]:
    """The messages of a model call over its window. Broken histories are repaired, so that every
    tool call has exactly one result and every result has its call.

    Entries that others wrote during the run are shown after it: the run never saw them, and they
    must not come between a call and its result.
    """
    messages = _summary(entries, call.window_from)
    meanwhile: list[ChatMessage] = []
    open_calls: dict[_CallKey, ToolCall] = {}
    started = _started(entries)
    run_id = ""
    pictures = shown(entries, call.window_from, call.profile)
    for entry in entries:
        if entry.seq < call.window_from or (kind := type(body := entry.body)) in _UNSEEN:
            continue
        if type(body) is ToolResultEntry:
            tool_call = open_calls.pop((entry.run_id, body.call, body.index), None)
            if tool_call is not None:
                content = _result_content(entry.seq, body, call.profile, pictures)
                messages.append(_result(tool_call, content))
            continue
        message = _message(entry, call.profile, pictures)
        if message is None:
            continue
        if kind in _MEANWHILE:
            meanwhile.append(message)
            continue
        if open_calls:
            messages += _unfinished(open_calls, started)
            open_calls.clear()
        if kind is UserEntry and entry.run_id != run_id:
            run_id = entry.run_id
            messages += meanwhile
            meanwhile.clear()
        messages.append(message)
        if message.tool_calls and type(body) is ReplyEntry:
            calls = enumerate(message.tool_calls)
            open_calls = {(entry.run_id, body.call, n): tool_call for n, tool_call in calls}
    messages += _unfinished(open_calls, started)
    system = ChatMessage(role="system", content=snapshot.system)
    return (system, *_fit(messages, snapshot.tokens, call))


def summary_tokens(summary: SummaryEntry | None) -> int:
    """About how many tokens a summary takes."""
    return 0 if summary is None else estimate_tokens(summary.text) + _HEADER_TOKENS


def _summary(entries: Sequence[Entry], start: int) -> list[ChatMessage]:
    """The summary of the entries before the window, if there is one."""
    for entry in reversed(entries):
        if type(body := entry.body) is SummaryEntry and body.upto == start - 1:
            text = f"[summary of what was said before, by the gateway: {body.text}]"
            return [ChatMessage(role="user", content=text)]
    return []


def _fit(messages: list[ChatMessage], fixed: int, call: ModelCallEntry) -> list[ChatMessage]:
    """If a single turn is too long for the model, leave out its oldest tool results."""
    room = _budget(call.profile, call.max_tokens)
    longest = sum([len(m.content) if isinstance(m.content, str) else room for m in messages])
    if fixed + longest * 4 // 3 + len(messages) * _EMPTY <= room:  # at most 4 bytes a character
        return messages
    excess = fixed + sum([_tokens(m) for m in messages]) - room
    if excess <= 0:
        return messages
    fitted = []
    for message in messages:
        saved = _tokens(message) - estimate_tokens(_ELIDED)
        if excess > 0 and message.role == "tool" and saved > 0:
            excess -= saved
            message = msgspec.structs.replace(message, content=_ELIDED)  # noqa: PLW2901
        fitted.append(message)
    return fitted


def _started(entries: Sequence[Entry]) -> set[_CallKey]:
    started = [(e.run_id, e.body) for e in entries if type(e.body) is ToolStartedEntry]
    return {(run, body.call, body.index) for run, body in started}


def _unfinished(
    calls: Mapping[_CallKey, ToolCall], started: Collection[_CallKey]
) -> list[ChatMessage]:
    """Add results for calls without one. Only a call that was started can have had an effect."""
    texts = (_UNKNOWN if key in started else _NOT_MADE for key in calls)
    return [_result(call, text) for call, text in zip(calls.values(), texts, strict=True)]


def _result(tool_call: ToolCall, content: str | tuple[Part, ...]) -> ChatMessage:
    return ChatMessage(role="tool", content=content, tool_call_id=tool_call.id)


def _result_content(
    seq: int, body: ToolResultEntry, profile: ModelProfile, pictures: frozenset[int]
) -> str | tuple[Part, ...]:
    """A tool result: its text, a line for each picture, then the pictures shown."""
    lines, images = rendered(seq, body.attachments, pictures, profile)
    text = "\n".join([body.text, *lines])
    return (TextPart(text), *images) if images else text


def _tokens(message: ChatMessage) -> int:
    if isinstance(message.content, str):
        return estimate_tokens(message.content)
    texts = (estimate_tokens(p.text) for p in message.content if isinstance(p, TextPart))
    return sum(texts) + IMAGE_TOKENS * (len(message.content) - 1)


def _message(entry: Entry, profile: ModelProfile, pictures: frozenset[int]) -> ChatMessage | None:
    """An entry as the model sees it; None if it never does."""
    body = entry.body
    if type(body) is UserEntry and body.command is None:
        return _user(entry.seq, body, profile, pictures)
    if type(body) is ReplyEntry:
        return _reply(entry, body, profile)
    if isinstance(body, PostEntry):
        return ChatMessage(role="assistant", content=body.text)
    noted = ""
    if isinstance(body, RecallEntry):
        noted = f"[from memory, by the gateway: {body.text}]"
    elif isinstance(body, _NOTES):
        noted = f"[note from the gateway: {body.text}]"
    return ChatMessage(role="user", content=noted) if noted else None


def _reply(entry: Entry, body: ReplyEntry, profile: ModelProfile) -> ChatMessage | None:
    if body.partial:
        text = body.text.strip()
        return ChatMessage(role="assistant", content=f"{text} [stopped here]") if text else None
    if not (body.tool_calls and profile.tools):
        said = ChatMessage(role="assistant", content=body.text, native=body.native)
        return said if body.text else None
    # The log's identity of a call is (run, model call, index); two providers may both say "call_0".
    calls = tuple(
        ToolCall(call.id or f"call_{entry.seq}_{index}", call.name, call.arguments)
        for index, call in enumerate(body.tool_calls)
    )
    return ChatMessage(role="assistant", content=body.text, tool_calls=calls, native=body.native)


def _clip_limit(profile: ModelProfile) -> int:
    return int(profile.context_tokens * 3 * _TEXT_SHARE)


def _user(
    seq: int, body: UserEntry, profile: ModelProfile, pictures: frozenset[int]
) -> ChatMessage:
    """A message with its quote and attachments, one per line, then the pictures."""
    if not (body.quote or body.edited or body.attachments):  # the usual case
        return ChatMessage(role="user", content=_headed(body.text, body, profile))
    lines = [f'[in reply to: "{_one_line(body.quote)}"]'] if body.quote else []
    lines += ["[edited message, replaces what was said before]"] if body.edited else []
    lines += [body.text] if body.text or not body.attachments else []
    files, images = rendered(seq, body.attachments, pictures, profile)
    text = _headed("\n".join(lines + files), body, profile)
    return ChatMessage(role="user", content=(TextPart(text), *images) if images else text)


def _one_line(quote: str) -> str:
    text = " ".join(quote.split())
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]} ..."


def _headed(content: str, body: UserEntry, profile: ModelProfile) -> str:
    limit = _clip_limit(profile)
    text = content if len(content) * 4 <= limit else _clip(content, limit)
    if profile.short_prompt:
        return text
    when = _minute(body.sent_at // 60, body.zone)
    who = called(body.sender_name, body.sender_id)
    if body.origin is not Origin.USER:
        who = f"{body.origin}: {who}"
    return f"[{when} {body.zone}, {body.address.channel}, {who}]\n{text}"


@lru_cache(maxsize=10_000)
def _minute(minute: float, zone: str) -> str:
    try:
        local = datetime.fromtimestamp(minute * 60, UTC).astimezone(_zone(zone))
    except (ValueError, OverflowError, OSError):  # beyond the years 1 to 9999
        return "at an unknown time"
    return local.strftime("%a %Y-%m-%d %H:%M")


@lru_cache(maxsize=16)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # "America" is a folder
        return ZoneInfo("UTC")


def _clip(text: str, limit: int) -> str:
    """Cut to `limit` bytes, the unit in which tokens are estimated. Short texts need no call."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    half = limit // 2
    head, tail = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    left_out = len(text) - len(head) - len(tail)
    note = f"[... {left_out} characters left out: too long for this model ...]"
    return f"{head}\n{note}\n{tail}"
