"""Brings live and missed messages of one channel to its intake in order, once each."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import msgspec
from loguru import logger

from nanobot.messages import Address, InboundMessage
from nanobot.ports import History, Intake

# All chats share one cursor, and messages that arrived in another chat just before it may be
# missing. So a look-up begins this much earlier, and known messages are dropped by their
# dedupe_key.
_MARGIN_SECONDS = 60
_RECENT = 4096


class _Held(msgspec.Struct):
    """A live message that waits for the look-up of its chat or thread."""

    message: InboundMessage
    at: int
    done: Callable[[], None]


class CatchingUp:
    """See ports.CatchUp. The cursor moves only while no look-up is active, so after a crash at any
    point the next process looks up from there."""

    def __init__(self, intake: Intake, history: History) -> None:
        self.kept = 0
        self._intake = intake
        self._history = history
        self._text: str | None = None
        self._first = self._latest = self._oldest = 0
        self._round = 0
        self._outstanding: dict[Address, int] = {}
        self._held: dict[Address, list[_Held]] = {}
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._wake = asyncio.Event()
        self._admitting = asyncio.Lock()

    async def begin(self) -> bool:
        text = await self._intake.cursor()
        positions = self._history.positions(text) if text else None
        stored = positions is not None
        if positions is None:
            if text:
                logger.warning(
                    "the stored cursor {!r} does not belong to this platform", text[:100]
                )
            now = await self._history.now()
            positions, text = (now, now), self._history.cursor(now, now)
            await self._intake.admit([], text)
        self.kept, self._first = positions
        self._text, self._latest = text, max(self._latest, self.kept)
        return stored

    async def look_back(self, places: Iterable[Address]) -> None:
        now, second = await self._history.now(), self._history.per_second
        bounds = (
            self.kept - _MARGIN_SECONDS * second,
            now - int(self._history.hours * 3600 * second),
            self._first - 1,
        )
        self._oldest = max(*bounds, 0)
        self._round += 1
        for place in places:
            self._outstanding[place] = self._round
        if self._outstanding:
            self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            while self._outstanding:
                place = next((held for held in self._held if held in self._outstanding), None)
                await self._look_up(place or next(iter(self._outstanding)))
            self._wake.clear()

    async def _look_up(self, place: Address) -> None:
        round_ = self._outstanding[place]
        missed = await self._history.missed(place, self._oldest)
        if self._outstanding.get(place) != round_:
            return  # the connection broke meanwhile: try again
        for other in missed.places:
            self._outstanding.setdefault(other, self._round)
        del self._outstanding[place]
        # Messages that wait for their thread's look-up keep waiting.
        held = [waiting for waiting in self._held.pop(place, []) if not self._hold(waiting)]
        messages = [*missed.messages, *(waiting.message for waiting in held)]
        latest = max([missed.latest, *(waiting.at for waiting in held)])
        async with self._admitting:
            await self._admit(self._new(messages), latest)
        for waiting in held:
            waiting.done()

    async def take(
        self, message: InboundMessage, at: int = 0, done: Callable[[], None] = lambda: None
    ) -> None:
        if not self._hold(_Held(message, at, done)):
            await self.admit(message, at)
            done()

    async def admit(self, message: InboundMessage, at: int = 0) -> None:
        async with self._admitting:
            # A platform may report the same edit again, whenever it adds data itself.
            known = message.edit_of is not None and not self._new([message])
            await self._admit([] if known else [message], at)

    def passed(self, at: int) -> None:
        self._latest = max(self._latest, at)

    @property
    def settled(self) -> bool:
        return not self._outstanding and not self._held

    def _hold(self, waiting: _Held) -> bool:
        """Hold a live message until earlier missed messages are admitted, if there may be any."""
        address = waiting.message.address
        # The chat first: its result may show that the thread has news.
        for place in (msgspec.structs.replace(address, thread_id=None), address):
            if place in self._outstanding:
                self._held.setdefault(place, []).append(waiting)
                return True
        return False

    async def _admit(self, messages: Sequence[InboundMessage], at: int) -> None:
        if self._text is None:  # a resumed connection starts no new catch-up
            await self.begin()
        moves, latest = not self._outstanding, max(self._latest, at)
        text = self._history.cursor(latest, self._first) if moves else self._text
        if messages or text != self._text:
            await self._intake.admit(messages, text)
        self._latest = latest
        if moves:
            self.kept, self._text = latest, text
        self._recent.update(dict.fromkeys(map(_key, messages)))
        while len(self._recent) > _RECENT:
            self._recent.popitem(last=False)

    def _new(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        """The messages that this process has not admitted before, each once."""
        unique: dict[str, InboundMessage] = {}
        for message in messages:
            unique.setdefault(_key(message), message)
        return [
            message
            for key, message in unique.items()
            if message.reaction or key not in self._recent  # the same reaction may be repeated
        ]


def _key(message: InboundMessage) -> str:
    return f"{message.address} {message.dedupe_key}"
