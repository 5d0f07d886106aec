"""Fetches the files of one channel's messages before a run takes these messages.

A message is on disk and waits in its lane. Its files are fetched and stored here, and then
committed with it. If a file cannot be fetched, its attachment says so.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar
from weakref import WeakValueDictionary

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import ChannelDown, ChannelError
from nanobot.messages import Attachment, Role
from nanobot.ports import Clock, Fetching
from nanobot.retries import Backoff, until_stored
from nanobot.session.inbox import FETCHING_SECONDS, Unfetched
from nanobot.workspace.received import Received

# Messages whose files are fetched at a time, and the maximum of one person among them.
_AT_ONCE = 8
_OF_ONE_PERSON = 2
# Longer than a transcription may take.
_MARGIN_SECONDS = 70.0
_ATTEMPT_SECONDS = 120.0
_AFTER_FAILURE_SECONDS = 30.0

T = TypeVar("T")


class _GivenUp(Exception):
    """A file cannot be fetched, as the text explains."""


class AttachmentFetcher:
    """Fetches the files of one channel's messages, each of at most `limit` bytes. Messages are
    served in parallel, so a slow file delays only its own lane, and one person's slow files only
    that person."""

    def __init__(
        self,
        name: str,
        channel: Fetching,
        bus: Bus,
        clock: Clock,
        received: Received,
        limit: int,
    ) -> None:
        self._name = name
        self._channel = channel
        self._bus = bus
        self._clock = clock
        self._received = received
        self._limit = limit
        self._came = bus.files_came(name)
        self._busy: set[int] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._slots_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._backoff = Backoff(1.0, 30.0, rng=random.Random())  # noqa: S311 - jitter, nothing secret

    async def run(self) -> None:
        """Fetch until cancelled, starting with files that an earlier process or an earlier call of
        this left."""
        self._busy.clear()
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._came.clear()
                with boundary(f"files of {self._name}") as caught:
                    self._begin(tasks, await self._unfetched())
                if caught.error is not None:
                    await self._clock.sleep(_AFTER_FAILURE_SECONDS)
                    self._came.set()
                await self._came.wait()

    async def _unfetched(self) -> list[Unfetched]:
        return await self._stored(lambda: self._bus.journal.unfetched(self._name))

    def _begin(self, tasks: asyncio.TaskGroup, waiting: Iterable[Unfetched]) -> None:
        for message in waiting:
            if message.inbound_id not in self._busy:
                self._busy.add(message.inbound_id)
                tasks.create_task(self._serve(message), name=f"files of {message.inbound_id}")

    async def _serve(self, waiting: Unfetched) -> None:
        """Fetch the files of one message. After an unforeseen failure, the message continues
        without them when its 5 minutes are over."""
        sender_id = waiting.message.sender.id
        own_slots = self._slots_of.get(sender_id) or asyncio.Semaphore(_OF_ONE_PERSON)
        self._slots_of[sender_id] = own_slots
        with boundary(f"files of message {waiting.inbound_id} of {self._name}") as caught:
            async with own_slots, self._slots:
                files = [await self._here(file, waiting) for file in waiting.message.attachments]
            await self._stored(lambda: self._bus.fetched(waiting.inbound_id, files))
        if caught.error is not None:
            await self._clock.sleep(_AFTER_FAILURE_SECONDS)
        self._busy.discard(waiting.inbound_id)
        self._came.set()  # an edit may have added files

    async def _here(self, file: Attachment, waiting: Unfetched) -> Attachment:
        """The attachment with its content stored, or with the reason why it is missing."""
        if not file.coming:
            return file
        at = waiting.at
        outside = not file.recorded or waiting.role is not Role.OWNER or waiting.message.tainted
        why = "something went wrong with it here; the log says what"
        with boundary(f"fetching {file.name or file.kind} from {self._name}"):
            try:
                content = await self._content(file, self._ends(at))
                return await self._received.keep(file, content, at, outside=outside)
            except _GivenUp as given_up:
                why = str(given_up)
        logger.warning("{}: {} could not be fetched: {}", self._name, file.name or file.kind, why)
        return msgspec.structs.replace(file, error=why)

    def _ends(self, at: float) -> float:
        """When fetching the files of a message that was admitted at `at` ends, by the monotonic
        clock: setting the machine's clock meanwhile changes nothing."""
        longest = FETCHING_SECONDS - _MARGIN_SECONDS
        left = min(max(at + longest - self._clock.now(), 0.0), longest)
        return self._clock.monotonic() + left

    async def _content(self, file: Attachment, ends: float) -> bytes:
        if file.size > self._limit:
            raise _GivenUp(self._too_large(file.size))
        failures = 0
        while True:
            patience = min(max(ends - self._clock.monotonic(), 1.0), _ATTEMPT_SECONDS)
            requested = None
            try:
                async with asyncio.timeout(patience):
                    content = await self._channel.fetch(file, self._limit)
            except ChannelDown as down:
                why, requested = str(down), down.retry_after
            except TimeoutError:
                why = "it took too long"
            except ChannelError as refused:
                raise _GivenUp(str(refused)) from refused
            else:
                if len(content) > self._limit:
                    raise _GivenUp(self._too_large(len(content)))
                return content
            failures += 1
            delay = requested or self._backoff.delay(failures)
            if self._clock.monotonic() + delay >= ends:
                raise _GivenUp(f"it could not be fetched in time ({why})")
            await self._clock.sleep(delay)

    def _too_large(self, size: int) -> str:
        return (
            f"it has {size / 1e6:.1f} MB, and channels.{self._name}.max_attachment_mb "
            f"allows {self._limit / 1e6:.0f}"
        )

    async def _stored(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Repeat a store operation until it succeeds, so that the file is not fetched again."""
        return await until_stored(ask, self._clock, f"{self._name}: a file")
