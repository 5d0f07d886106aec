"""Delivers outgoing messages to the chats of one channel.

Each chat with unsent messages has its own task, so trouble in one chat delays no other.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.channels.ages import Ages
from nanobot.channels.chat_delivery import MAX_AGE_SECONDS, ChatDelivery
from nanobot.channels.chat_leases import ChatLeases
from nanobot.channels.delivery_parts import DeliveryParts
from nanobot.channels.departures import Departure
from nanobot.channels.outage import Outage
from nanobot.channels.sender import PartSender
from nanobot.errors import NobodyThere
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Clock, Probing
from nanobot.retries import STORE_RETRY_SECONDS, Backoff, until_stored
from nanobot.troubles import TROUBLES


class Delivery:
    """The delivery of one channel. `release_preview` is called before the message of a preview is
    sent and returns when the preview is no longer changed; `may_depart` tells whether it would
    return at once and no preview was shown."""

    def __init__(  # noqa: PLR0913 - each is a part of the host
        self,
        name: str,
        sender: PartSender,
        bus: Bus,
        clock: Clock,
        rng: random.Random,
        release_preview: Callable[[str], Awaitable[None]],
        may_depart: Callable[[OutboundMessage], bool],
        leases: ChatLeases,
    ) -> None:
        channel = sender.channel
        self._waits = channel.capabilities.waits
        self._leases = leases
        self._name = name
        self._bus = bus
        self._clock = clock
        self._parts = DeliveryParts(
            sender=sender,
            journal=bus.journal,
            clock=clock,
            moved=sender.moved,
            ages=Ages(clock),
            outage=Outage(clock, channel.probe if isinstance(channel, Probing) else None),
            release_preview=release_preview,
            may_depart=may_depart,
            backoff=Backoff(0.5, 30.0, rng=rng),
            # So steep that a platform which applies every send but never replies shows a message
            # about ten times in 24 hours.
            doubtful_backoff=Backoff(0.5, MAX_AGE_SECONDS, 3.0, rng=rng),
            leases=leases,
        )
        self._chats: dict[str, asyncio.Event] = {}
        self._parked: set[str] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._tasks: asyncio.TaskGroup | None = None
        bus.departures[name] = self.departure

    async def run(self) -> None:
        """Send messages until cancelled, starting with those of an earlier process."""
        journal, what = self._bus.journal, f"{self._name}: delivery"
        owed = self._bus.owed_chats(self._name)
        for address in await until_stored(
            lambda: journal.owed_chats(self._name), self._clock, what
        ):
            self._bus.deliver(address)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._leases.keep(), name=f"{self._name}: its chats")
            self._tasks = tasks
            try:
                while True:
                    chat = await owed.get()
                    self._parked.discard(chat)
                    again = self._chats.get(chat)
                    if again is not None:
                        again.set()
                        continue
                    self._begin(tasks, chat)
            finally:
                self._tasks = None

    def _begin(
        self, tasks: asyncio.TaskGroup, chat: str, departure: Departure | None = None
    ) -> None:
        self._chats[chat] = asyncio.Event()
        self._quiet.clear()
        tasks.create_task(self._serve(chat, departure), name=f"delivery {self._name}:{chat}")

    def departure(self, message: OutboundMessage) -> Departure | None:
        """Keep the chat for this message and render it, if it could be sent at once. None: its
        delivery begins when it is stored."""
        if self._tasks is None or not self._at_once(message):
            return None
        rendered = self._parts.sender.rendered(message)
        if not rendered:
            return None
        departure = Departure(message.key, rendered)
        self._begin(self._tasks, message.address.chat_id, departure)
        return departure

    def _at_once(self, message: OutboundMessage) -> bool:
        """Whether nothing is known that a send of this message would have to wait for."""
        chat, parts = message.address.chat_id, self._parts
        if chat in self._chats or chat in self._parked or message.direct or message.replaces:
            return False
        if not self._leases.ours(chat) or (self._leases.helping and message.only_for):
            return False
        if not self._leases.attended(chat):
            return False
        calm = not parts.outage.suspected and parts.sender.rates.free(chat)
        return calm and parts.may_depart(message)

    async def flush(self, seconds: float) -> None:
        """Wait at most `seconds` until no send is in progress."""
        try:
            async with asyncio.timeout(seconds):
                await self._quiet.wait()
        except TimeoutError:
            logger.warning(
                "{}: {} chat(s) still have unsent messages", self._name, len(self._chats)
            )

    @property
    def parked(self) -> frozenset[str]:
        """Chats whose messages wait until a client attaches."""
        return frozenset(self._parked)

    async def _serve(self, chat_id: str, departure: Departure | None) -> None:
        """Deliver one chat's messages, oldest first, until none is left."""
        again = self._chats[chat_id]
        chat = ChatDelivery(Address(self._name, chat_id), self._parts, departure)
        try:
            while True:
                again.clear()
                if not self._leases.attended(chat_id):
                    self._parked.add(chat_id)
                    return
                with boundary(f"delivery to {chat.address}") as caught:
                    try:
                        with self._leases.using(chat_id):
                            await chat.drain()
                        TROUBLES.over(f"messages to {chat}")
                    except NobodyThere as error:
                        self._parked.add(chat_id)
                        if not self._waits:  # the platform does not accept it yet
                            TROUBLES.note(f"messages to {chat}", error, certain=True)
                if chat.elsewhere is not None:
                    self._bus.peers.passed_on(chat.address, chat.elsewhere)
                    return
                if caught.error is not None:
                    await self._clock.sleep(STORE_RETRY_SECONDS)
                elif not again.is_set():
                    return
        finally:
            del self._chats[chat_id]
            if not self._chats:
                self._quiet.set()
