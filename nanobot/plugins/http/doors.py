"""Receives HTTP requests from a channel's platform, one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from loguru import logger

from nanobot.channels.intake import ChannelIntake
from nanobot.errors import NanobotError
from nanobot.ports import Clock, Intake, PlatformReply, PlatformRequest, Receiving

_MOST_WAITING = 64
_PATIENCE_SECONDS = 20.0
_SAY_SECONDS = 60.0
_BUSY = PlatformReply(status=503, body=b"Too many requests wait already; deliver it again later.")
_NOT_KEPT = PlatformReply(status=503, body=b"It could not be stored; deliver it again later.")


class DoorIntake(ChannelIntake):
    """An intake that says nothing about the channel's `run`, which may be in another process."""

    def alive(self) -> None:
        """Do nothing: the channel's state is about its `run`."""


class Door:
    """Receives the requests of one channel's platform. `intake` returns the current intake."""

    def __init__(
        self, name: str, channel: Receiving, intake: Callable[[], Intake], clock: Clock
    ) -> None:
        self._name = name
        self._channel = channel
        self._intake = intake
        self._clock = clock
        self._turn = asyncio.Lock()  # waiting tasks get it in the order of their arrival
        self._waiting = 0
        self._say_at = 0.0

    async def take(self, request: PlatformRequest) -> PlatformReply:
        """Let the channel answer a request after the earlier ones. Even if the reply is an error,
        the channel may have committed messages; the platform then delivers them again."""
        if self._waiting >= _MOST_WAITING:
            self._say("too many requests wait")
            return _BUSY
        self._waiting += 1
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), self._turn:
                reply = await self._channel.receive(request, self._intake())
        except TimeoutError:
            self._say(f"a request could not be taken within {_PATIENCE_SECONDS:.0f} s")
            return _BUSY
        except NanobotError as error:
            logger.error("{}: a request could not be stored: {}", self._name, error)
            return _NOT_KEPT
        finally:
            self._waiting -= 1
        if reply.status >= 400:
            why = reply.body.decode("utf-8", "replace")[:200]
            self._say(f"a request is refused with {reply.status}: {why}")
        return reply

    def _say(self, what: str) -> None:
        """Log it at most once a minute, because anyone can send requests that are refused."""
        now = self._clock.monotonic()
        if now >= self._say_at:
            self._say_at = now + _SAY_SECONDS
            logger.warning("{}: {}", self._name, what)
