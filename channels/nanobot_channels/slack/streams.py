"""Streams: messages that grow while they are written (https://docs.slack.dev/ai/developing-agents).

A stream accepts only appended text: it cannot be edited before it is stopped. Slack ends a stream
after some minutes, and when a person presses stop. After that, an edit adds the rest of the text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Step
from nanobot.ports import Clock, OutboundPart
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.shapes import string
from nanobot_channels.slack.api import (
    FAILED,
    ApiRefusal,
    NoAnswer,
    WebApi,
    delivery_error,
    is_passing,
)
from nanobot_channels.slack.events import is_ts
from nanobot_channels.slack.parts import MARKDOWN_LIMIT, Json, metadata_of, payload_of, visible

STARTS_A_MINUTE = 20
APPENDS_A_MINUTE = 100
"""The limits of Slack's tiers 2 and 4 per workspace for chat.startStream and chat.appendStream."""
_TITLE_LIMIT = 250
_MOST = 1000
_TOLD_BY = 200
# Errors that mean that the stream has ended, not that the text was invalid.
_OVER = {"message_not_in_streaming_state", "stopped_by_user"}
_OF_THE_CHAT = {"channel_not_found", "is_archived", "not_in_channel", "user_not_found"}


class _Stream(msgspec.Struct):
    """The text of a stream so far, as sent; `sure`: all of it arrived, and nothing else did."""

    shown: list[Step]
    length: int = 0
    sure: bool = True


class Streams:
    """The streams of one workspace. A permanent refusal is remembered; if too many streams were
    begun or appended to within a minute, no call is made.
    """

    def __init__(self, name: str, api: WebApi, clock: Clock) -> None:
        self._name = name
        self._api = api
        self._open: Recent[str, _Stream] = Recent(_MOST)
        self._refusing: set[str] = set()
        self._starts = _Window(clock, STARTS_A_MINUTE)
        self._appends = _Window(clock, APPENDS_A_MINUTE)

    def possible(self, address: Address) -> bool:
        """Whether a stream may begin there now: streams are answers in threads."""
        threaded = bool(address.thread_id) and address.chat_id not in self._refusing
        return threaded and self._starts.free()

    async def start(self, address: Address, steps: Sequence[Step], recipient: Json) -> str:
        """Begin one; returns its ts. See ports.Streaming."""
        chunks, stream = _chunks([], steps) or [], _Stream(list(steps))
        stream.length = sum(map(_length, chunks))
        params = {
            "channel": address.chat_id,
            "thread_ts": address.thread_id,
            "chunks": chunks,  # a stream that begins with chunks accepts chunks of every kind
            "task_display_mode": "timeline",
        }
        self._starts.took()
        try:
            answer = await self._api.call("chat.startStream", params | recipient)
        except ApiRefusal as error:
            raise self._refused(address, error) from error
        except NoAnswer as error:
            raise delivery_error(error) from error
        ts = string(answer.get("ts"))
        if not is_ts(ts):
            raise OutcomeUnknown("Slack's chat.startStream answered without a ts")
        self._open[ts] = stream
        return ts

    def is_open(self, message_id: str) -> bool:
        """Whether it is a stream that this process began and has not stopped."""
        return message_id in self._open

    def _refused(self, address: Address, error: ApiRefusal) -> Exception:
        if error.status == 429 or error.code in {"ratelimited", "rate_limited"}:
            self._starts.close(error.retry_after or 60.0)
            return Refused(str(error))
        if error.code in _OF_THE_CHAT or (is_passing(error) and error.status != 404):
            return delivery_error(error)
        logger.info("{}: no streams in {}: {}", self._name, address.chat_id, error)
        self._refusing.add(address.chat_id)
        return Refused(str(error))

    async def grow(self, address: Address, message_id: str, steps: Sequence[Step]) -> None:
        """Append the new text; see ports.Streaming."""
        stream = self._open.get(message_id)
        chunks = None if stream is None or not stream.sure else _chunks(stream.shown, steps)
        if stream is None or chunks is None:
            raise Refused("the new text does not continue the streamed text")
        length = sum(map(_length, chunks))
        if stream.length + length > MARKDOWN_LIMIT:
            raise Refused("a stream takes no more than one message does")
        if not chunks:
            return
        if not self._appends.free():
            raise NotSent("enough was appended within this minute")
        self._appends.took()
        params = {"channel": address.chat_id, "ts": message_id, "chunks": chunks}
        try:
            await self._api.call("chat.appendStream", params)
        except ApiRefusal as error:
            if error.status == 429 or error.code in {"ratelimited", "rate_limited"}:
                self._appends.close(error.retry_after or 60.0)
                raise NotSent(str(error)) from error
            stream.sure = False
            raise Refused(str(error)) from error
        except NoAnswer as error:
            stream.sure = not error.sent
            raise delivery_error(error) from error
        stream.shown, stream.length = list(steps), stream.length + length

    async def finish(self, address: Address, message_id: str, part: OutboundPart) -> bool:
        """Stop a stream with the rest of its text. Returns False if it is not a stream, or has a
        different text, so that an edit is needed. Raises as `send`.
        """
        stream, payload = self._open.pop(message_id, None), payload_of(part)
        if stream is None or not stream.sure or not stream.shown or not payload.markdown:
            return False
        last = stream.shown[-1]
        if any(first.text and second.text for first, second in pairwise(stream.shown)):
            return False  # words that are not in the answer, and nothing between
        written = "" if last.tool else _text(last)
        chunks = _chunks(stream.shown, [_done(step) for step in stream.shown])
        if chunks is None or not payload.markdown.startswith(written):
            return False
        if rest := payload.markdown[len(written) :]:
            chunks.append({"type": "markdown_text", "text": rest})
        if stream.length + sum(map(_length, chunks)) > MARKDOWN_LIMIT:
            return False
        params: Json = {"channel": address.chat_id, "ts": message_id}
        params |= {"chunks": chunks} if chunks else {}
        params |= {"blocks": payload.blocks} if payload.blocks else {}
        params |= {"metadata": metadata_of(part)} if part.key else {}
        try:
            await self._api.call("chat.stopStream", params)
        except ApiRefusal as error:
            if is_passing(error):
                self._open[message_id] = stream
                raise delivery_error(error) from error
            logger.info("{}: {} is edited instead: {}", self._name, message_id, error)
            return False
        except NoAnswer as error:
            raise delivery_error(error) from error
        return True

    async def stop(self, address: Address, message_id: str) -> None:
        """Stop a stream without changing it; it is not an error if it has ended already. Raises as
        `send`.
        """
        self._open.pop(message_id, None)
        try:
            params = {"channel": address.chat_id, "ts": message_id}
            await self._api.call("chat.stopStream", params)
        except FAILED as error:
            if not isinstance(error, ApiRefusal) or error.code not in _OVER:
                raise delivery_error(error) from error


def is_nameless(message: Json) -> bool:
    """Whether it is a stream that was not stopped with a key: one whose start has an unknown
    outcome, or that Slack ended.
    """
    return bool(message.get("streaming_state")) and not message.get("metadata")


def begins_so(message: Json, part: OutboundPart) -> bool:
    """Whether a stream's text, which Slack has reformatted, begins like that of the part."""
    return _letters(str(message.get("text", ""))).startswith(_letters(part.text)[:_TOLD_BY])


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


class _Window:
    """How often something was done within a minute."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._times: deque[float] = deque()
        self._closed = 0.0

    def free(self) -> bool:
        now = self._clock.monotonic()
        while self._times and self._times[0] <= now - 60.0:
            self._times.popleft()
        return len(self._times) < self._most and now >= self._closed

    def took(self) -> None:
        self._times.append(self._clock.monotonic())

    def close(self, seconds: float) -> None:
        self._closed = self._clock.monotonic() + seconds


def _chunks(shown: Sequence[Step], steps: Sequence[Step]) -> list[Json] | None:
    """The text to append to the displayed steps, None if the new steps do not begin with those."""
    if len(shown) > len(steps):
        return None
    chunks: list[Json] = []
    for number, step in enumerate(steps):
        before = shown[number] if number < len(shown) else None
        if before is not None and bool(before.tool) != bool(step.tool):
            return None
        if step.tool:
            chunks += _task(number, step, before)
            continue
        old, new = "" if before is None else _text(before), _text(step)
        if not new.startswith(old):
            return None
        apart = "\n\n" if not old and number and not steps[number - 1].tool else ""
        if len(new) > len(old):
            chunks.append({"type": "markdown_text", "text": apart + new[len(old) :]})
    return chunks


def _text(step: Step) -> str:
    """The part of an unfinished text that is safe to send: a mention could begin at its end."""
    return visible(step.text).removesuffix("<").rstrip()


def _task(number: int, step: Step, before: Step | None) -> Iterator[Json]:
    if before is None or before.done != step.done:
        status = "complete" if step.done else "in_progress"
        title = visible(step.tool)[:_TITLE_LIMIT]
        yield {"type": "task_update", "id": f"tool-{number}", "title": title, "status": status}


def _done(step: Step) -> Step:
    return msgspec.structs.replace(step, done=bool(step.tool))


def _length(chunk: dict[str, Any]) -> int:
    return len(chunk.get("text", "")) + len(chunk.get("title", ""))
