"""Fetching: the files that came with the messages of one channel, before anybody takes these.

A message is on disk and waits in its lane; here its files are fetched and kept, and then committed
with it. What does not come is said in the attachment.
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
from nanobot.errors import ChannelDown, ChannelError
from nanobot.messages import Attachment
from nanobot.ports import Clock, Fetching
from nanobot.session.inbox import FETCHING_SECONDS, Unfetched
from nanobot.system import Backoff, until_stored
from nanobot.workspace.received import Received

_AT_ONCE = 4
# What transcribing may take, and then some.
_MARGIN_SECONDS = 70.0
_ATTEMPT_SECONDS = 120.0

T = TypeVar("T")


class _GivenUp(Exception):
    """A file will not come; the text says why."""


class AttachmentFetcher:
    """The files of one channel's messages, each of at most `limit` bytes. Messages are served side
    by side, so that one slow file keeps only its own lane waiting."""

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
        self._backoff = Backoff(1.0, 30.0, rng=random.Random())  # noqa: S311 - jitter, nothing secret

    async def run(self) -> None:
        """Fetch until cancelled, beginning with what an earlier process left."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._came.clear()
                for one in await self._stored(lambda: self._bus.journal.unfetched(self._name)):
                    if one.inbound_id not in self._busy:
                        self._busy.add(one.inbound_id)
                        tasks.create_task(self._serve(one), name=f"files of {one.inbound_id}")
                await self._came.wait()

    async def _serve(self, one: Unfetched) -> None:
        try:
            async with self._slots:
                files = [await self._here(file, one.at) for file in one.message.attachments]
            await self._stored(lambda: self._bus.fetched(one.inbound_id, files))
        finally:
            self._busy.discard(one.inbound_id)
            self._came.set()  # an edit may have brought others

    async def _here(self, file: Attachment, at: float) -> Attachment:
        """The attachment with its content here, or with the reason why it is not."""
        if not file.coming:
            return file
        why = "something went wrong with it here; the log says what"
        with boundary(f"fetching {file.name or file.kind} from {self._name}"):
            try:
                content = await self._content(file, at + FETCHING_SECONDS - _MARGIN_SECONDS)
                return await self._received.keep(file, content, at)
            except _GivenUp as given_up:
                why = str(given_up)
        logger.warning("{}: {} did not come: {}", self._name, file.name or file.kind, why)
        return msgspec.structs.replace(file, error=why)

    async def _content(self, file: Attachment, deadline: float) -> bytes:
        if file.size > self._limit:
            raise _GivenUp(self._too_large(file.size))
        failures = 0
        while True:
            patience = min(max(deadline - self._clock.now(), 1.0), _ATTEMPT_SECONDS)
            told = None
            try:
                async with asyncio.timeout(patience):
                    content = await self._channel.fetch(file, self._limit)
            except ChannelDown as down:
                why, told = str(down), down.retry_after
            except TimeoutError:
                why = "it took too long"
            except ChannelError as refused:
                raise _GivenUp(str(refused)) from refused
            else:
                if len(content) > self._limit:
                    raise _GivenUp(self._too_large(len(content)))
                return content
            failures += 1
            delay = told or self._backoff.delay(failures)
            if self._clock.now() + delay >= deadline:
                raise _GivenUp(f"it could not be fetched in time ({why})")
            await self._clock.sleep(delay)

    def _too_large(self, size: int) -> str:
        return (
            f"it has {size / 1e6:.1f} MB, and channels.{self._name}.max_attachment_mb "
            f"allows {self._limit / 1e6:.0f}"
        )

    async def _stored(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What was fetched is not to be fetched again."""
        return await until_stored(ask, self._clock, f"{self._name}: a file")
