"""What the model sees: a pure function of the log. It reads no file and no clock.

The same entries give the same bytes, and each call's messages begin with those of the call
before, so that provider caches hit. The window moves in steps, never by one message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from nanobot.agent.attachments import IMAGE_TOKENS, shown
from nanobot.agent.entry_messages import (
    EMPTY,
    HEADER_TOKENS,
    Rendered,
    clip_limit,
    estimate_tokens,
    picture_tokens,
    result_of,
    size_of,
)
from nanobot.agent.request_names import RequestNames
from nanobot.messages import RunOptions
from nanobot.providers.base import ChatMessage, ModelProfile, ModelRequest, TextPart, ToolCall
from nanobot.session.entries import (
    DeniedEntry,
    Entry,
    ModelCallEntry,
    PostEntry,
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
_MEANWHILE = (PostEntry, UndeliveredEntry, DeniedEntry)  # not written by the run
# Loops over the window compare types: entries have no subclasses, and isinstance costs twice that.
_UNSEEN = frozenset({ModelCallEntry, ToolStartedEntry})

_CallKey: TypeAlias = tuple[str, int, int]
"""Run, model call and index."""


class Window(msgspec.Struct, frozen=True):
    """The first entry that the model sees, and the estimated tokens from there."""

    start: int
    estimate: int


class PromptBudget(msgspec.Struct, frozen=True, kw_only=True):
    """Room for a prompt. `fixed`: tokens of the system prompt and tools; `max_tokens`: reserved for
    the answer; `max_history`: messages before the current turn."""

    profile: ModelProfile
    fixed: int
    max_tokens: int
    max_history: int


def plan_window(
    entries: Sequence[Entry],
    start: int,
    room: PromptBudget,
    rendered: Rendered | None = None,
    *,
    overflowed: bool,
) -> Window:
    """Keep the window, or cut it at the beginning of a turn.

    It is cut if it is estimated over 80% of the budget, if it holds more than `max_history`
    messages before the current turn, or if the provider said it was too long. It is cut to half of
    the limit.
    """
    fixed, max_history = room.fixed, room.max_history
    budget = _budget(room.profile, room.max_tokens)
    scale = _correction(entries)
    rendered = (rendered or Rendered()).using(room.profile, len(entries))
    sizes = _turn_sizes(entries, start, room.profile, rendered)
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
        elif counted and isinstance(body, ModelCallEntry):
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
    entries: Sequence[Entry], start: int, profile: ModelProfile, rendered: Rendered
) -> list[tuple[int, int, int]]:
    """(first seq, messages, tokens) of each turn. A user message begins one, except in steering."""
    turns: list[tuple[int, int, int]] = []
    known, limit = rendered.sizes, clip_limit(profile)
    pictures = shown(entries, start, profile)
    run_id = ""
    for entry in entries:
        if entry.seq < start or type(body := entry.body) in _UNSEEN:
            continue
        found = known.get(entry.seq)
        if found is None or found[0] is not body:
            found = known[entry.seq] = (body, size_of(body, limit))
        size = found[1]
        if size is None:
            continue
        if pictures and isinstance(body, (UserEntry, ToolResultEntry)):
            size += picture_tokens(entry, body, pictures)
        if (type(body) is UserEntry and entry.run_id != run_id) or not turns:
            turns.append((entry.seq, 0, 0))
            run_id = entry.run_id
        seq, count, tokens = turns[-1]
        turns[-1] = (seq, count + 1, tokens + size)
    return turns


def context(
    entries: Sequence[Entry],
    snapshot: PromptSnapshot,
    call: ModelCallEntry,
    rendered: Rendered | None = None,
) -> tuple[ChatMessage, ...]:
    """The messages of a model call over its window. Broken histories are repaired, so that every
    tool call has exactly one result and every result has its call. `rendered`: what earlier calls
    made of the same log.

    Entries that others wrote during the run are shown after it: the run never saw them, and they
    must not come between a call and its result.
    """
    profile = call.profile
    rendered = (rendered or Rendered()).using(profile, len(entries))
    known = rendered.messages
    messages = _summary(entries, call.window_from)
    meanwhile: list[ChatMessage] = []
    open_calls: dict[_CallKey, ToolCall] = {}
    started = _started(entries)
    run_id = ""
    pictures = shown(entries, call.window_from, profile)
    for entry in entries:
        if entry.seq < call.window_from or (kind := type(body := entry.body)) in _UNSEEN:
            continue
        if type(body) is ToolResultEntry:
            tool_call = open_calls.pop((entry.run_id, body.call, body.index), None)
            if tool_call is not None:
                messages.append(rendered.result(entry.seq, body, tool_call, profile, pictures))
            continue
        was, made = known.get(entry.seq, (None, None))
        message = made if was is body else rendered.message(entry, profile, pictures)
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


def request_digest(request: ModelRequest, names: RequestNames | None = None) -> str:
    """The name of a request: the hash of its bytes, pictures by the names of their contents.
    `names`: what earlier requests of the conversation began with."""
    return (names or RequestNames()).of(request)


def summary_tokens(summary: SummaryEntry | None) -> int:
    """About how many tokens a summary takes."""
    return 0 if summary is None else estimate_tokens(summary.text) + HEADER_TOKENS


def _summary(entries: Sequence[Entry], start: int) -> list[ChatMessage]:
    """The summary of the entries before the window, if there is one."""
    if start <= 1:
        return []
    for entry in reversed(entries):
        if type(body := entry.body) is SummaryEntry and body.upto == start - 1:
            text = f"[summary of what was said before, by the gateway: {body.text}]"
            return [ChatMessage(role="user", content=text)]
    return []


def _fit(messages: list[ChatMessage], fixed: int, call: ModelCallEntry) -> list[ChatMessage]:
    """If a single turn is too long for the model, leave out its oldest tool results."""
    room = _budget(call.profile, call.max_tokens)
    longest = sum([len(m.content) if type(m.content) is str else room for m in messages])
    if fixed + longest * 4 // 3 + len(messages) * EMPTY <= room:  # at most 4 bytes a character
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
    return [result_of(call, text) for call, text in zip(calls.values(), texts, strict=True)]


def _tokens(message: ChatMessage) -> int:
    if isinstance(message.content, str):
        return estimate_tokens(message.content)
    texts = (estimate_tokens(p.text) for p in message.content if isinstance(p, TextPart))
    return sum(texts) + IMAGE_TOKENS * (len(message.content) - 1)
