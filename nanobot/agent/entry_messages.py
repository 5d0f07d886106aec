"""One entry of a log as the model sees it, and about how many tokens that takes."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from nanobot.addresses import called
from nanobot.agent.attachments import IMAGE_TOKENS, place, rendered
from nanobot.agent.request_names import RequestNames
from nanobot.messages import Origin
from nanobot.providers.base import ChatMessage, ModelProfile, Part, TextPart, ToolCall
from nanobot.session.entries import (
    Body,
    DeniedEntry,
    Entry,
    FailedEntry,
    ObjectionEntry,
    PostEntry,
    RecallEntry,
    ReplyEntry,
    ToolResultEntry,
    UndeliveredEntry,
    UserEntry,
)
from nanobot.zones import zone_or_utc

HEADER_TOKENS = 20
EMPTY = 4
"""Estimated tokens of an empty text."""

_TEXT_SHARE = 0.4
_QUOTED = 500
_NOTES = (FailedEntry, UndeliveredEntry, DeniedEntry, ObjectionEntry)
"""Entries shown to the model as notes from the gateway."""
_TEXTS = (PostEntry, RecallEntry, *_NOTES)
_SPARE = 100


class Rendered:
    """The messages and sizes of a log's entries for one model, by their numbers, with the bodies
    that they are of: entries never change, so each is made once, for all calls and runs that have
    the same body (`decode_short`). Those with files are not kept: later pictures decide on theirs.
    """

    def __init__(self) -> None:
        self.sizes: dict[int, tuple[Body | None, int | None]] = {}
        self.messages: dict[int, tuple[Body | None, ChatMessage | None]] = {}
        self.requests = RequestNames()
        self._profile: ModelProfile | None = None

    def using(self, profile: ModelProfile, entries: int) -> Rendered:
        """The same, emptied if it was for another model, or has much more than so many entries."""
        if self._profile != profile or len(self.sizes) > 2 * entries + _SPARE:
            self._profile = profile
            self.sizes.clear()
            self.messages.clear()
        return self

    def message(
        self, entry: Entry, profile: ModelProfile, pictures: frozenset[int]
    ) -> ChatMessage | None:
        """The message of an entry other than a tool result."""
        message = _message(entry, profile, pictures)
        if not (type(entry.body) is UserEntry and entry.body.attachments):
            self.messages[entry.seq] = entry.body, message
        return message

    def result(
        self,
        seq: int,
        body: ToolResultEntry,
        call: ToolCall,
        profile: ModelProfile,
        pictures: frozenset[int],
    ) -> ChatMessage:
        """The message of a tool result, the result of that call."""
        was, message = self.messages.get(seq, (None, None))
        if was is not body or message is None or message.tool_call_id != call.id:
            message = result_of(call, _result_content(seq, body, profile, pictures))
            if not body.attachments:
                self.messages[seq] = body, message
        return message


def estimate_tokens(text: str) -> int:
    """A model-independent guess: UTF-8 bytes over three, which holds for prose, code and CJK."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size // 3 + EMPTY


def size_of(body: Body | None, limit: int) -> int | None:
    """Estimated tokens of an entry, without rendering it; None if it is not shown."""
    if type(body) is UserEntry:
        text = estimate_tokens(body.text) + (estimate_tokens(body.quote) if body.quote else EMPTY)
        if body.attachments:
            text += _file_tokens(body)
        return min(text, limit // 3) + HEADER_TOKENS
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
    return sum([estimate_tokens(file.text) + HEADER_TOKENS for file in body.attachments])


def picture_tokens(
    entry: Entry, body: UserEntry | ToolResultEntry, pictures: frozenset[int]
) -> int:
    """Estimated tokens of the pictures of an entry that are shown."""
    places = (place(entry.seq, index) for index in range(len(body.attachments)))
    return IMAGE_TOKENS * sum(number in pictures for number in places)


def result_of(tool_call: ToolCall, content: str | tuple[Part, ...]) -> ChatMessage:
    """The message with the result of a call."""
    return ChatMessage(role="tool", content=content, tool_call_id=tool_call.id)


def _result_content(
    seq: int, body: ToolResultEntry, profile: ModelProfile, pictures: frozenset[int]
) -> str | tuple[Part, ...]:
    """A tool result: its text, a line for each picture, then the pictures shown."""
    lines, images = rendered(seq, body.attachments, pictures, profile)
    text = "\n".join([body.text, *lines])
    return (TextPart(text), *images) if images else text


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


def clip_limit(profile: ModelProfile) -> int:
    """The bytes to which a person's message is cut."""
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
    text = content
    if len(content) * 4 > profile.context_tokens:  # most are far shorter
        limit = clip_limit(profile)
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
        local = datetime.fromtimestamp(minute * 60, UTC).astimezone(zone_or_utc(zone))
    except (ValueError, OverflowError, OSError):  # beyond the years 1 to 9999
        return "at an unknown time"
    return local.strftime("%a %Y-%m-%d %H:%M")


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
