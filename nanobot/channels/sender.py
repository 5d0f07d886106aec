"""Sends one part of a message to a platform, in a format that it accepts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import takewhile
from typing import TypeAlias, TypeVar

import msgspec
from loguru import logger

from nanobot.boundary import Caught, boundary, guarded
from nanobot.bus.core import Outgoing
from nanobot.channels.moved_chats import MovedChats
from nanobot.channels.rate_limit import RateLimiter, RatePeers
from nanobot.errors import (
    DeliveryError,
    FormRefused,
    NanobotError,
    NotSent,
    OutcomeUnknown,
    Refused,
    Uncertain,
)
from nanobot.messages import Address, Attachment, InboundMessage, OutboundKind, OutboundMessage
from nanobot.ports import (
    Albums,
    BlobReader,
    Channel,
    Clock,
    Confiding,
    Deleting,
    Editing,
    Filing,
    Ordering,
    OutboundPart,
)
from nanobot.text import Sentence

_LONG = 4_000

T = TypeVar("T")

Arrived: TypeAlias = Callable[[str, tuple[str, ...]], Awaitable[list[str]]]
"""Which of these messages of a channel are known to be ours, see session.records."""


class PartSender:
    """Renders the messages of one channel and sends their parts, at the rate that the platform
    allows.

    The caller records that a part is about to be sent, and afterwards the result.
    """

    def __init__(  # noqa: PLR0913 - each is a part of the host
        self,
        channel: Channel,
        clock: Clock,
        moved: MovedChats,
        blobs: BlobReader | None = None,
        arrived: Arrived | None = None,
        others: RatePeers = RatePeers(),  # noqa: B008 - frozen
        outgoing: Sequence[Outgoing] = (),
    ) -> None:
        self._outgoing = outgoing
        self.rates = RateLimiter(clock, channel.capabilities, others)
        self.channel = self._channel = channel
        self.moved = moved
        self._blobs = blobs
        self._arrived = arrived
        self.shaped: Callable[[OutboundMessage], OutboundMessage] = lambda message: message

    # Rendering

    async def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The adapter's parts for the text, then one for each file or group of files, each with a
        permanently unique key. If rendering fails, the message is sent as plain text.

        A long text is rendered on a thread: some Markdown costs its length squared, and no chat may
        wait for another's.
        """
        message = await self._changed(message)
        if len(message.text) > _LONG:
            return await asyncio.to_thread(self._with_keys, message)
        return self._with_keys(message)

    def rendered(self, message: OutboundMessage) -> list[OutboundPart]:
        """The same at once; none for a long text, with files, or with words that may change."""
        changes = self._outgoing and message.own_words
        if len(message.text) > _LONG or message.attachments or changes:
            return []
        return self._with_keys(message)

    async def line(self, address: Address, text: Sentence, key: str) -> OutboundPart:
        """A line of nanobot's own, as a part of its own."""
        line = OutboundMessage(address=address, text=text, key=key, kind=OutboundKind.NOTICE)
        return OutboundPart(text=(await self._changed(line)).text, key=key)

    async def _changed(self, message: OutboundMessage) -> OutboundMessage:
        """The message as plugins change it, if its words are nanobot's own."""
        for change in self._outgoing if message.own_words else ():
            message = await change(message)
        return message

    def _with_keys(self, message: OutboundMessage) -> list[OutboundPart]:
        parts: list[OutboundPart] = []
        with boundary(f"rendering {message.key}"):
            parts = self._rendered(message)
        if not parts:
            files = [OutboundPart(text="", file=file) for file in message.attachments]
            parts = [OutboundPart(text=message.text or "(empty message)"), *files]
        return [
            msgspec.structs.replace(part, key=f"{message.key}:{number}")
            for number, part in enumerate(parts)
        ]

    def _rendered(self, message: OutboundMessage) -> list[OutboundPart]:
        channel, message = self._channel, self.shaped(message)
        files = message.attachments
        if not (files and isinstance(channel, Filing)):
            return channel.render(_with_files_named(message))
        words = message.text.strip() or message.choices
        rendered = channel.render(msgspec.structs.replace(message, attachments=())) if words else []
        return [*rendered, *self._grouped(files)]

    def _grouped(self, files: tuple[Attachment, ...]) -> Iterator[OutboundPart]:
        """A part for each file, or for adjacent files that can be sent together. Files whose
        content is known to be missing are not grouped."""
        channel = self._channel
        while files:
            here = tuple(takewhile(_has_content, files))
            together = channel.together(here) if isinstance(channel, Albums) and here else 1
            count = max(together, 1)
            yield OutboundPart(text="", file=files[0], others=files[1:count])
            files = files[count:]

    # Sending

    def confides(self, address: Address, person: str) -> bool:
        there, channel = self.moved.there(address), self._channel
        return isinstance(channel, Confiding) and channel.confides(there, person)

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        channel = self._channel
        if not isinstance(channel, Ordering):
            return None
        return channel.is_after(message, receipt, shown_at)

    async def send_of(self, message: OutboundMessage, part: OutboundPart) -> str:
        """Send one part, if possible only to the person it concerns. Returns its message id, or ""
        if it is discreet and others would have seen it. Raises as `send`."""
        address, person, channel = message.address, message.only_for, self._channel
        there = self.moved.there(address)
        if person and part.file is None and isinstance(channel, Confiding):
            try:
                if channel.confides(there, person):
                    return await self.paced(address, lambda: channel.confide(there, person, part))
            except Refused as refused:
                logger.info(
                    "{}: this message cannot be shown to {} only: {}", address, person, refused
                )
        if message.discreet:
            logger.info("{}: {} is not sent, since others would see it", address, message.key)
            return ""
        return await self.send(address, part)

    async def send(self, address: Address, part: OutboundPart) -> str:
        """Send one part; returns its message id. If its format is refused it is sent as plain text,
        and a refused file as a line that says so. Raises DeliveryError: FormRefused if it must be
        rendered differently, or if files cannot be one message."""
        if part.file is None:
            return await self.paced(address, lambda: self._text(address, part))
        if part.others:
            return await self._together(address, part, (part.file, *part.others))
        file = part.file
        return await self.paced(address, lambda: self._file(address, part, file))

    async def _together(
        self, address: Address, part: OutboundPart, files: Sequence[Attachment]
    ) -> str:
        """Send files as one message. Raises FormRefused if that is refused: the files are then sent
        and recorded one by one."""
        try:
            return await self.paced(address, lambda: self._album(address, part, files))
        except Refused as error:
            logger.info("{}: {} files go one by one: {}", address, len(files), error)
            refused = FormRefused(str(error))
            first = msgspec.structs.replace(part, others=())
            refused.instead = [first, *(OutboundPart(text="", file=file) for file in files[1:])]
            raise refused from error

    async def replace(self, address: Address, message_id: str, part: OutboundPart) -> str:
        """Edit a message of ours into this part; returns its id. Raises Refused if it must be sent
        instead, and NotSent if the outcome is unknown, because an edit can be repeated."""
        try:
            await self.paced(address, lambda: self._edit(address, message_id, part), edit=True)
        except OutcomeUnknown as error:
            raise NotSent(str(error)) from error
        return message_id

    async def discard(self, address: Address, message_id: str) -> None:
        """Delete a message of ours that its answer cannot replace, if that is possible."""
        channel, there = self._channel, self.moved.there(address)
        if not isinstance(channel, Deleting):
            return
        try:
            await self.contained(address, lambda: channel.delete(there, message_id))
        except DeliveryError as error:
            logger.info("{}: {} stays there: {}", address, message_id, error)

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """Look a part up, see ports.Channel. Raises OutcomeUnknown for any error of an adapter that
        is not a DeliveryError.

        If the platform cannot tell several messages apart, those that are receipts of other parts
        are excluded. The remaining one is this part; if none remains, it was not applied.
        """
        there = self.moved.there(address)
        try:
            return await self.contained(address, lambda: self._channel.find(there, part, since))
        except Uncertain as uncertain:
            if self._arrived is None or not uncertain.perhaps:
                raise
            others = await self._arrived(address.channel, uncertain.perhaps)
            left = [number for number in uncertain.perhaps if number not in others]
            if len(left) > 1:
                raise
            logger.info("{}: {} is {}", address, part.key, left[0] if left else "not there")
            return left[0] if left else None

    async def paced(
        self, address: Address, work: Callable[[], Awaitable[str]], *, edit: bool = False
    ) -> str:
        """The result of a call to the platform, made when its rate allows. Raises DeliveryError."""
        await self.rates.turn(address.chat_id, edit=edit)
        return await self.contained(address, work)

    async def contained(self, address: Address, work: Callable[[], Awaitable[T]]) -> T:
        """Turn any error of an adapter that is not a DeliveryError into OutcomeUnknown."""

        def failed(caught: Caught) -> T:
            raise OutcomeUnknown(f"the channel failed inside ({type(caught.error).__name__})")

        try:
            return await guarded(f"sending to {address}", work, failed, None, DeliveryError)
        except NotSent as failure:
            self.rates.complained(address.chat_id, failure)
            raise

    async def _text(self, address: Address, part: OutboundPart) -> str:
        there = self.moved.there(address)
        try:
            return await self._channel.send(there, part)
        except FormRefused:
            raise
        except Refused as refused:
            logger.warning("{}: refused as formatted ({}), sent as plain text", address, refused)
            return await self._channel.send(there, part, plain=True)

    async def _edit(self, address: Address, message_id: str, part: OutboundPart) -> str:
        channel = self._channel
        if not isinstance(channel, Editing) or part.file is not None:
            raise Refused("this part cannot replace another message")
        there = self.moved.there(address)
        try:
            await channel.edit(there, message_id, part)
        except FormRefused:
            raise
        except Refused as refused:
            logger.warning("{}: edit refused ({}), tried as plain text", address, refused)
            await channel.edit(there, message_id, part, plain=True)
        return message_id

    async def _album(
        self, address: Address, part: OutboundPart, files: Sequence[Attachment]
    ) -> str:
        channel, there = self._channel, self.moved.there(address)
        if not isinstance(channel, Albums):
            raise Refused("files do not go together here")
        try:
            contents = [await self._content(file) for file in files]
        except NanobotError as error:
            raise Refused(str(error)) from error
        return await channel.send_album(there, part, contents)

    async def _file(self, address: Address, part: OutboundPart, file: Attachment) -> str:
        channel, there = self._channel, self.moved.there(address)
        try:
            content = await self._content(file)
            if isinstance(channel, Filing):
                return await channel.send_file(there, part, content)
            why = "files cannot be sent here"
        except DeliveryError as error:
            if not isinstance(error, Refused):
                raise
            why = str(error)
        except NanobotError as error:
            why = str(error)
        logger.warning("{}: the file {} is not sent: {}", address, _name(file), why)
        if file.text and not file.blob:
            refused = FormRefused(why)
            refused.instead = await self._as_text(address, part.key, file)
            raise refused
        line = await self.line(address, _not_sent(file, why), part.key)
        return await self._channel.send(there, line, plain=True)

    async def _as_text(self, address: Address, key: str, code: Attachment) -> list[OutboundPart]:
        """Code that may not be a file, in as many messages as needed."""
        fence = "`" * (_longest_run(code.text) + 3)
        text = f"`{code.name}`:\n\n{fence}\n{code.text}\n{fence}"
        message = OutboundMessage(address=address, text=text, key=key)
        return await asyncio.to_thread(self._channel.render, message)

    async def _content(self, file: Attachment) -> bytes:
        if file.text and not file.blob:
            return file.text.encode()
        if file.error or not file.blob or self._blobs is None:
            raise Refused(file.error or "its content is not here")
        return await self._blobs.read(file.blob)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _has_content(file: Attachment) -> bool:
    return bool(file.blob or file.text) and not file.error


def _not_sent(file: Attachment, why: Sentence) -> Sentence:
    return f"(The file {_name(file)} could not be sent: {why})"


def _name(file: Attachment) -> str:
    return file.name or file.path or file.kind


def _with_files_named(message: OutboundMessage) -> OutboundMessage:
    """For a channel without files: add a line for each that says where it is."""
    if not message.attachments:
        return message
    lines = [
        f"(File: {_name(file)}" + (f", in the workspace as {file.path})" if file.path else ")")
        for file in message.attachments
    ]
    text = "\n".join(([message.text, ""] if message.text else []) + lines)
    return msgspec.structs.replace(message, text=text)
