"""Delivery: what is owed to the chats of one channel, sent in order, each send recorded around it.

One task for each chat that is owed something, so that a chat in trouble keeps only itself waiting.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.channels.sender import PartSender
from nanobot.errors import (
    ChatGone,
    DeliveryError,
    Fenced,
    NobodyThere,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreError,
)
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Clock, OutboundPart
from nanobot.session.outbox import OutboundRow, PartRow
from nanobot.system import STORE_RETRY_SECONDS, Backoff, until_stored

MAX_AGE_SECONDS = 24 * 3600.0
"""An unsent message dies of age, never of a number of attempts: an outage is not its fault."""

T = TypeVar("T")

REPEAT_LINE = "(This may be a repeat: I could not tell whether it had arrived.)"


class Delivery:
    """The delivery of one channel. `release_preview` is asked before the message of a preview is
    sent: it returns once nothing is done about the preview any more."""

    def __init__(
        self,
        name: str,
        sender: PartSender,
        bus: Bus,
        clock: Clock,
        rng: random.Random,
        release_preview: Callable[[str], Awaitable[None]],
    ) -> None:
        self._name = name
        self._channel = sender.channel
        self._sender = sender
        self._handed_over = release_preview
        self._bus = bus
        self._journal = bus.journal
        self._clock = clock
        self._backoff = Backoff(0.5, 30.0, rng=rng)
        # So steep that a platform which applies every send and never answers shows a message some
        # ten times in its 24 hours.
        self._doubtful_backoff = Backoff(0.5, MAX_AGE_SECONDS, 3.0, rng=rng)
        self._chats: dict[str, asyncio.Event] = {}
        self._parked: set[str] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def run(self) -> None:
        """Send what is owed until cancelled, beginning with what an earlier process left."""
        await self._recover()
        owed = self._bus.owed_chats(self._name)
        async with asyncio.TaskGroup() as tasks:
            while True:
                chat = await owed.get()
                self._parked.discard(chat)
                again = self._chats.get(chat)
                if again is not None:
                    again.set()
                    continue
                self._chats[chat] = asyncio.Event()
                self._quiet.clear()
                tasks.create_task(self._serve(chat), name=f"delivery {self._name}:{chat}")

    async def _recover(self) -> None:
        """Wake every chat that something is owed to, as soon as the store says which."""
        for address in await self._stored(lambda: self._journal.owed_chats(self._name)):
            self._bus.owed(address)

    async def flush(self, seconds: float) -> None:
        """Wait until nothing is being sent, at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._quiet.wait()
        except TimeoutError:
            logger.warning("{}: {} chat(s) still owed something", self._name, len(self._chats))

    @property
    def parked(self) -> frozenset[str]:
        """Chats whose messages wait for somebody to attach."""
        return frozenset(self._parked)

    async def _serve(self, chat: str) -> None:
        """Everything owed to one chat, oldest first; ends when nothing is left."""
        again = self._chats[chat]
        address = Address(self._name, chat)
        try:
            while True:
                again.clear()
                with boundary(f"delivery to {address}") as caught:
                    await self._drain(address)
                if caught.error is not None:
                    await self._clock.sleep(STORE_RETRY_SECONDS)
                elif not again.is_set():
                    return
        finally:
            del self._chats[chat]
            if not self._chats:
                self._quiet.set()

    async def _drain(self, address: Address) -> None:
        row = await self._journal.next_outbound(address)
        while row is not None:
            try:
                row = await self._send(row)
            except NobodyThere:
                self._parked.add(address.chat_id)
                return
            except Fenced:
                row = await self._journal.next_outbound(address)
            except StoreError as error:
                logger.error("delivery to {} waits for the store: {}", address, error)
                await self._clock.sleep(STORE_RETRY_SECONDS)
                row = await self._journal.next_outbound(address)

    async def _send(self, row: OutboundRow) -> OutboundRow | None:
        """One message from where its delivery stands. Returns the next one of the chat."""
        address = row.message.address
        old = self._clock.now() - row.created_at > MAX_AGE_SECONDS
        if old and not self._channel.capabilities.waits:
            await self._journal.bury(row, "not delivered within 24 hours", whole_chat=False)
            return await self._journal.next_outbound(address)
        wait = row.not_before - self._clock.now()
        if wait > 0:
            await self._clock.sleep(min(wait, MAX_AGE_SECONDS))
        if row.preview is not None:
            await self._handed_over(row.message.key)
            now = await self._journal.next_outbound(address)
            return now if now is None or now.preview is None else await self._replace_preview(now)
        unsure = next((part.idx for part in row.parts if part.state == "sending"), None)
        if unsure is not None:
            return await self._reconcile(row, unsure)
        parts = [part.part for part in row.parts]
        fresh = [] if parts else await self._sender.render(row.message)
        parts = parts or fresh
        sent = sum(part.state == "sent" for part in row.parts)
        await self._journal.begin_send(row, fresh, sent, duplicate=False)
        return await self._parts(row, parts, sent)

    async def _replace_preview(self, row: OutboundRow) -> OutboundRow | None:
        """A preview of this message was shown: the message takes its place. Where it is unknown
        whether the preview arrived, it is looked up, or the message says that it may be a repeat.
        """
        message, doubtful = row.message, row.standing is None
        if doubtful and self._channel.capabilities.reconciles:
            try:
                found = await self._channel.find(message.address, row.parts[0].part)
            except DeliveryError as error:
                return await self._trouble(row, 0, OutcomeUnknown(str(error)))
            row = _standing(row, found)
        elif doubtful:
            text = f"{message.text}\n\n{REPEAT_LINE}"
            message = msgspec.structs.replace(message, text=text)
        parts = await self._sender.render(message)
        duplicate = message is not row.message
        await self._journal.begin_send(row, parts, 0, duplicate=duplicate)
        return await self._parts(_standing(row, row.standing), parts, 0)

    async def _parts(
        self, row: OutboundRow, parts: list[OutboundPart], first: int
    ) -> OutboundRow | None:
        """Send the parts from `first` on, whose beginning is recorded already."""
        for idx in range(first, len(parts)):
            try:
                receipt = await self._one(row, parts, idx)
            except DeliveryError as error:
                return await self._trouble(row, idx, error)
            following = idx + 1 if idx + 1 < len(parts) else None
            after = await self._receipt(row, idx, receipt, following)
            if following is None:
                return after
        return await self._journal.next_outbound(row.message.address)

    async def _one(self, row: OutboundRow, parts: list[OutboundPart], idx: int) -> str:
        """Send one part, or put it in the place of what stands there."""
        address = row.message.address
        if idx == 0 and row.standing is not None:
            try:
                return await self._sender.replace(address, row.standing, parts[0])
            except Refused as refused:
                logger.warning("{}: {} is sent anew ({})", address, row.message.key, refused)
                await self._journal.begin_send(_standing(row, None), parts, 0, duplicate=False)
        return await self._sender.send(address, parts[idx])

    async def _trouble(
        self, row: OutboundRow, idx: int, error: DeliveryError
    ) -> OutboundRow | None:
        address = row.message.address
        if isinstance(error, OutcomeUnknown):
            logger.warning("{}: it is unknown whether part {} arrived ({})", address, idx, error)
            await self._clock.sleep(self._doubtful_backoff.delay(row.duplicate_sends + 1))
            return await self._journal.next_outbound(address)
        if isinstance(error, NobodyThere):
            await self._stored(lambda: self._journal.defer(row, idx, 0.0, str(error)))
            raise error
        if isinstance(error, ChatGone | Refused):
            whole = isinstance(error, ChatGone)
            dead = await self._stored(lambda: self._journal.bury(row, str(error), whole_chat=whole))
            logger.error("{}: {} message(s) undeliverable: {}", address, dead, error)
            return await self._journal.next_outbound(address)
        told = error.retry_after if isinstance(error, NotSent) else None
        delay = told if told is not None else self._backoff.delay(row.attempts + 1)
        logger.warning("{}: not sent ({}), again in {:.1f} s", address, error, delay)
        again = self._clock.now() + delay
        await self._stored(lambda: self._journal.defer(row, idx, again, str(error)))
        return await self._journal.next_outbound(address)

    async def _reconcile(self, row: OutboundRow, idx: int) -> OutboundRow | None:
        """A part was about to be sent when the answer, or this process, was lost. Ask the platform
        where it can tell; else send again, saying so."""
        address = row.message.address
        parts = [part.part for part in row.parts]
        if idx == 0 and row.standing is not None:  # an edit may be done again
            await self._journal.begin_send(row, (), idx, duplicate=False)
            return await self._parts(_standing(row, row.standing), parts, idx)
        if self._channel.capabilities.reconciles:
            try:
                receipt = await self._channel.find(address, parts[idx])
            except DeliveryError as error:
                return await self._trouble(row, idx, OutcomeUnknown(str(error)))
            if receipt is not None:
                following = idx + 1 if idx + 1 < len(parts) else None
                after = await self._receipt(row, idx, receipt, following)
                return after if following is None else await self._parts(row, parts, following)
            await self._journal.begin_send(row, (), idx, duplicate=False)
            return await self._parts(row, parts, idx)
        await self._journal.begin_send(row, (), idx, duplicate=True)
        row = msgspec.structs.replace(row, duplicate_sends=row.duplicate_sends + 1)
        try:
            parts[idx] = await self._marked(row.message, parts, idx)
        except DeliveryError as error:
            return await self._trouble(row, idx, error)
        return await self._parts(row, parts, idx)

    async def _marked(
        self, message: OutboundMessage, parts: list[OutboundPart], idx: int
    ) -> OutboundPart:
        """The part with a last line that says it may be a repeat; where that line does not fit in,
        it is sent ahead on its own."""
        if len(parts) == 1 and parts[0].file is None:
            text = f"{message.text}\n\n{REPEAT_LINE}"
            rendered = await self._sender.render(msgspec.structs.replace(message, text=text))
            if len(rendered) == 1:
                return msgspec.structs.replace(rendered[0], key=parts[idx].key)
        line = OutboundPart(text=REPEAT_LINE, key=f"{parts[idx].key}:r")
        await self._sender.send(message.address, line)
        return parts[idx]

    async def _receipt(
        self, row: OutboundRow, idx: int, receipt: str, begin: int | None
    ) -> OutboundRow | None:
        return await self._stored(lambda: self._journal.receipt(row, idx, receipt, begin=begin))

    async def _stored(self, write: Callable[[], Awaitable[T]]) -> T:
        """What came of a send is known to this process alone: without its row the message would
        have to be repeated."""
        return await until_stored(write, self._clock, f"{self._name}: delivery")


def _standing(row: OutboundRow, receipt: str | None) -> OutboundRow:
    """The row as it is once its first part is being put in the place of that message."""
    first = PartRow(idx=0, part=OutboundPart(text=""), state="pending", receipt=receipt)
    return msgspec.structs.replace(row, parts=(first,))
