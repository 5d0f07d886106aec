"""The host of one channel: supervises its intake, and delivers its messages."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.channels.attachments import AttachmentFetcher
from nanobot.channels.chat_leases import Sharing
from nanobot.channels.commands import CommandsInProgress
from nanobot.channels.companions import ChannelParts, Companion, Companions
from nanobot.channels.delivery import Delivery
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.moved_chats import MovedChats
from nanobot.channels.rate_limit import RatePeers
from nanobot.channels.sender import Arrived, PartSender
from nanobot.config.settings.channels import ChannelSettings
from nanobot.errors import BadCredentials, ChannelDown, ChannelError
from nanobot.messages import InboundMessage, OutboundMessage, Role
from nanobot.ports import BlobReader, Channel, Clock, Filing
from nanobot.retries import Backoff
from nanobot.session.inbox import Admission, Admitted
from nanobot.session.said import Waiting
from nanobot.supervision import Work, begin_all

MISSED_HEARTBEATS = 2
"""After this many missed signs of life a channel that is up is restarted."""

_LONGEST_BACKOFF = 60.0
_LONGEST_PAUSE = 3_600.0
_REST_SECONDS = 3.0
"""Commands of a delivery are admitted after a second, ended or not."""
_INTAKE = "intake"
_SERVED = frozenset({"up", "down", "wedged"})


class _Silent(ChannelDown):
    """The platform has been silent for too long."""


class Hosting(msgspec.Struct, frozen=True, kw_only=True):
    """How a channel is hosted."""

    settings: ChannelSettings = ChannelSettings(type="")
    companions: Callable[[ChannelParts], Sequence[Companion]] = lambda _parts: ()
    """Gives what plugins do for it."""
    text_of: Callable[[str], str | None] = lambda _run_id: None
    """Returns a run's text so far (None: it is not driven here)."""
    blobs: BlobReader | None = None
    """Has the contents of files."""
    fetcher: AttachmentFetcher | None = None
    """Gets the files of messages."""
    arrived: Arrived | None = None
    """Tells which messages of a platform are known to be ours."""
    sharing: Sharing = Sharing()
    """What other processes over the same store do."""
    attended: Callable[[str], bool] | None = None
    """See Sharing.chats."""


class ChannelHost:
    """One supervised channel; see intake.Host. Its failure affects no other channel.

    `state` is starting, up, down (will be retried), wedged (silent for too long, restarting),
    failed (its credentials are refused) or standby (another process serves it).
    """

    def __init__(
        self,
        name: str,
        channel: Channel,
        bus: Bus,
        clock: Clock,
        rng: random.Random,
        hosting: Hosting = Hosting(),  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self.state = "starting"
        self.settled = asyncio.Event()
        self._channel = channel
        self._clock = clock
        self._backoff = Backoff(1.0, _LONGEST_BACKOFF, rng=rng)
        self._hosting = hosting
        self._bus = bus
        self.moved = MovedChats(name, bus.journal, clock)
        self._commands = CommandsInProgress(name, bus, clock)
        self.commands: Waiting = self._commands
        self._sender = sender = PartSender(
            *(channel, clock, self.moved, hosting.blobs, hosting.arrived),
            others=RatePeers(
                lambda: bus.peers.speakers(name), lambda seconds: bus.peers.slowed(name, seconds)
            ),
            outgoing=bus.outgoing,
        )
        self.confides, self.is_after = sender.confides, sender.is_after
        bus.on_slowed[name] = sender.rates.heard
        self._leases = hosting.sharing.chats(name, channel, bus, hosting.attended)
        self._companions = Companions(name, hosting.companions(self._parts()))
        sender.shaped = self._companions.shaped
        self._delivery = Delivery(
            *(name, sender, bus, clock, rng),
            *(self._companions.release, self._may_depart, self._leases),
        )
        self._intake: ChannelIntake | None = None
        self._heard = 0.0
        self._receiving: asyncio.Task[None] | None = None
        self._scope: asyncio.Timeout | None = None

    def _parts(self) -> ChannelParts:
        return ChannelParts(
            name=self.name,
            channel=self._channel,
            sender=self._sender,
            leases=self._leases,
            moved=self.moved,
            text_of=self._hosting.text_of,
            settings=self._hosting.settings,
        )

    def alive(self) -> None:
        self._heard = self._clock.monotonic()
        if self.state != "up":
            self._settle("up")
            self._companions.up()

    def admitted(self, message: InboundMessage, outcome: Admitted, role: Role) -> None:
        performing = self._commands.admitted(message, outcome)
        self._companions.admitted(message, outcome, role, performing=performing)

    @property
    def takes_files(self) -> bool:
        return isinstance(self._channel, Filing)

    def _settle(self, state: str) -> None:
        self.state = state
        self.settled.set()
        self._bus.peers.here_changed()

    async def run(self, intake: ChannelIntake) -> None:
        """Receive and deliver until cancelled, as far as this process does."""
        self._intake = intake
        try:
            await self._leases.serve(self)
        finally:
            await self._leases.leave()

    def standby(self) -> None:
        self._settle("standby")

    @property
    def speaks(self) -> bool:
        """Whether this process sends to the channel's chats."""
        return self.state in _SERVED or (self._leases.helping and self.state == "standby")

    async def work(self, *, speaks: bool = True, receives: bool = True) -> None:
        await self.moved.load()
        works = self._speaking() if speaks else {}
        if receives and self._intake is not None:
            works |= self._receiving_works(self._intake)
        async with asyncio.TaskGroup() as tasks:
            self._begin(tasks, works)

    def _begin(self, tasks: asyncio.TaskGroup, works: Mapping[str, Work]) -> None:
        named = {f"{self.name}: {name}": work for name, work in works.items()}
        begun = dict(zip(works, begin_all(tasks, named, self._clock), strict=True))
        self._receiving = begun.get(_INTAKE, self._receiving)

    def _speaking(self) -> dict[str, Work]:
        return {"delivery": self._delivery.run, **self._companions.speaking()}

    def _receiving_works(self, intake: ChannelIntake) -> dict[str, Work]:
        channel, works = self._channel, dict[str, Work]()
        if self._hosting.fetcher is not None:
            works["files"] = self._hosting.fetcher.run
        works["commands in progress"] = self._commands.run
        works[_INTAKE] = partial(self._receive, intake)
        if channel.capabilities.heartbeat is not None:
            works["heartbeat"] = partial(self._watch_heart, channel.capabilities.heartbeat)
        return works | self._companions.receiving(intake)

    def admitting(self, admission: Admission) -> Admission:
        return self._companions.admitting(admission)

    def _may_depart(self, message: OutboundMessage) -> bool:
        """Whether the chat shows nothing that the message must replace, or wait for. Clients that
        attach see that a run ended before they see its answer."""
        if self._channel.capabilities.waits:
            return False
        return not self._companions.holds(message.key)

    async def stop_intake(self) -> None:
        """Stop receiving, after the delivery that is being taken; sends continue."""
        if self._receiving is not None:
            if self._intake is not None:
                await self._intake.rest(_REST_SECONDS)
            self._receiving.cancel()

    async def rest(self, seconds: float) -> None:
        """Wait at most `seconds` for commands in progress."""
        await self._commands.rest(seconds)

    async def flush(self, seconds: float) -> None:
        """Wait at most `seconds` for sends in progress. No new preview begins."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._companions.rest()
        await self._delivery.flush(seconds)

    async def close(self) -> None:
        with boundary(f"closing {self.name}"):
            await self._channel.close()

    async def _receive(self, intake: ChannelIntake) -> None:
        failures = 0
        while True:
            began = self._clock.monotonic()
            error = await self._run_channel(intake)
            if isinstance(error, BadCredentials):
                logger.error("{} is off: {}", self.name, error)
                self._settle("failed")
                return
            failures = 0 if self._clock.monotonic() - began > _LONGEST_BACKOFF else failures
            requested = error.retry_after if isinstance(error, ChannelDown) else None
            failures += 1
            delay = min(requested or self._backoff.delay(failures), _LONGEST_PAUSE)
            logger.warning("{} is down ({}), again in {:.1f} s", self.name, error, delay)
            if not isinstance(error, _Silent):
                self._settle("down")
            await self._clock.sleep(delay)

    async def _run_channel(self, intake: ChannelIntake) -> Exception | None:
        """Run the adapter once; returns the error that ended it."""
        error: Exception | None = None
        scope = asyncio.timeout(None)
        self._heard = self._clock.monotonic()
        with boundary(f"channel {self.name}") as caught:
            try:
                async with scope:
                    self._scope = scope
                    await self._channel.run(intake)
            except ChannelError as refused:
                error = refused
            except TimeoutError:
                if not scope.expired():
                    raise
                error = _Silent("it was silent for too long")
            finally:
                self._scope = None
        return error or caught.error

    async def _watch_heart(self, seconds: float) -> None:
        """End the adapter's run if the platform is silent for too long, wherever it hangs."""
        while True:
            await self._clock.sleep(seconds)
            silent = self._clock.monotonic() - self._heard
            if self._scope is not None and silent > MISSED_HEARTBEATS * seconds:
                logger.error("{} is wedged: no sign of life for {:.0f} s", self.name, silent)
                self._settle("wedged")
                self._scope.reschedule(asyncio.get_running_loop().time())
                self._scope = None
