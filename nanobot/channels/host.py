"""The host of one channel: supervises its intake, delivers its messages, and shows "typing"."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.channels.activity import Activity, RunEnded, RunInProgress
from nanobot.channels.attachments import AttachmentFetcher
from nanobot.channels.chat_leases import ChatLeases
from nanobot.channels.commands import CommandsInProgress
from nanobot.channels.delivery import Delivery
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.menus import Menus, MenuSettings, menus_of
from nanobot.channels.missed_reactions import MissedReactions
from nanobot.channels.moved_chats import MovedChats
from nanobot.channels.rate_limit import RatePeers
from nanobot.channels.sender import Arrived, PartSender
from nanobot.channels.shared_chats import SharedChats
from nanobot.channels.sharing import Sharing
from nanobot.channels.showing import Showing, ShowingParts
from nanobot.errors import BadCredentials, ChannelDown, ChannelError
from nanobot.messages import Address, InboundMessage, OutboundMessage, Role
from nanobot.ports import (
    BlobReader,
    Channel,
    Clock,
    Filing,
    Recalling,
    Receiving,
    Telling,
)
from nanobot.retries import Backoff
from nanobot.session.inbox import Admitted
from nanobot.session.said import Waiting
from nanobot.supervision import Work, begin_all

TYPING_AFTER = 1.0
"""Seconds until typing is shown, so that a quick answer needs no extra call."""
TYPING_EVERY = 4.0
"""Platforms hide the sign after about five seconds."""
MISSED_HEARTBEATS = 2
"""After this many missed signs of life a channel that is up is restarted."""

_LONGEST_BACKOFF = 60.0
_INTAKE = "intake"
_SERVED = frozenset({"up", "down", "wedged"})


class _Silent(ChannelDown):
    """The platform has been silent for too long."""


class Hosting(msgspec.Struct, frozen=True, kw_only=True):
    """How a channel is hosted. `showing`: gives the ways to show runs that work. `text_of` returns
    a run's text so far (None: it is not driven here); `blobs` has the contents of files; `fetcher`
    gets the files of messages; `menus` sets the platform's command menus; `arrived` tells which
    messages of a platform are known to be ours. `sharing`: set if other processes use the same
    store. `attended`: set if they serve this channel too; tells whether a client is attached here
    to the chat with that id."""

    showing: Callable[[ShowingParts], Sequence[Showing]] | None = None
    preview: bool = True
    show_tools: bool = False
    marks: bool = False
    text_of: Callable[[str], str | None] = lambda _run_id: None
    blobs: BlobReader | None = None
    fetcher: AttachmentFetcher | None = None
    menus: MenuSettings = MenuSettings()
    arrived: Arrived | None = None
    sharing: Sharing | None = None
    attended: Callable[[str], bool] | None = None


class ChannelHost:
    """One supervised channel. Its failure affects no other channel.

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
        self._activity = Activity(name, bus, clock)
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
        bus.on_slowed(name, sender.rates.heard)
        self._leases = ChatLeases(bus.journal)
        if hosting.sharing is not None and not channel.capabilities.waits:
            self._leases = hosting.sharing.chats(name, bus.journal)
        self._showing = () if hosting.showing is None else hosting.showing(self._showing_parts())
        self._menus = menus_of(name, channel, hosting.menus)
        self._missed: MissedReactions | None = None
        chats = None
        if hosting.sharing is not None and hosting.attended is not None:
            chats = SharedChats(clock, hosting.attended)
        self._delivery = Delivery(
            *(name, sender, bus, clock, rng),
            *(self._release, self._may_depart, self._leases, chats),
        )
        self._first_up = asyncio.Event()
        self._heard = 0.0
        self._receiving: asyncio.Task[None] | None = None
        self._scope: asyncio.Timeout | None = None

    def _showing_parts(self) -> ShowingParts:
        return ShowingParts(
            name=self.name,
            channel=self._channel,
            sender=self._sender,
            journal=self._bus.journal,
            clock=self._clock,
            activity=self._activity,
            leases=self._leases,
            moved=self.moved,
            text_of=self._hosting.text_of,
            preview=self._hosting.preview,
            show_tools=self._hosting.show_tools,
            marks=self._hosting.marks,
        )

    def alive(self) -> None:
        self._heard = self._clock.monotonic()
        if self.state != "up":
            self._settle("up")
            self._first_up.set()
            if self._missed is not None:
                self._missed.up()

    def admitted(self, message: InboundMessage, outcome: Admitted, role: Role) -> None:
        """A message is in the journal."""
        if self._menus is not None:
            self._menus.heard(message, role)
        if self._commands.admitted(message, outcome):
            return  # no run will answer it
        for showing in self._showing:
            showing.received(message, outcome)

    @property
    def takes_files(self) -> bool:
        return isinstance(self._channel, Filing)

    def _settle(self, state: str) -> None:
        self.state = state
        self.settled.set()
        self._bus.peers.here_changed()

    async def run(self, intake: ChannelIntake) -> None:
        """Receive, deliver and show work until cancelled. If processes share a store, only the one
        with the channel's lease does; if the channel is `shared`, only that one receives."""
        try:
            if self._hosting.sharing is None or self._channel.capabilities.waits:
                await self._serve(intake)
            elif not self.shares:
                await self._in_turn(self._hosting.sharing, partial(self._serve, intake))
            else:
                await self.moved.load()
                async with asyncio.TaskGroup() as tasks:
                    self._leases.helping = True
                    self._begin(tasks, self._speaking())
                    await self._in_turn(self._hosting.sharing, partial(self._listening, intake))
        finally:
            await self._leases.leave()

    @property
    def shares(self) -> bool:
        """Whether several processes send for it, each in different chats."""
        return self._hosting.sharing is not None and self._channel.capabilities.shared

    @property
    def speaks(self) -> bool:
        """Whether this process sends to the channel's chats."""
        return self.state in _SERVED or (self.shares and self.state == "standby")

    async def _in_turn(self, sharing: Sharing, serve: Callable[[], Awaitable[None]]) -> None:
        """Serve while this process has the channel's lease, and wait for it in between."""
        lease = sharing.turn(self.name, shares=self.shares)
        while True:
            self._leases.helping = self.shares
            if not await lease.take():
                self._settle("standby")
                logger.info("{}: another process serves it; waiting", self.name)
                await lease.wait()
            self._leases.helping = False
            await lease.holding(serve)

    async def _serve(self, intake: ChannelIntake) -> None:
        await self.moved.load()
        async with asyncio.TaskGroup() as tasks:
            self._begin(tasks, self._speaking() | self._receiving_works(intake))

    async def _listening(self, intake: ChannelIntake) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._begin(tasks, self._receiving_works(intake))

    def _begin(self, tasks: asyncio.TaskGroup, works: Mapping[str, Work]) -> None:
        named = {f"{self.name}: {name}": work for name, work in works.items()}
        begun = dict(zip(works, begin_all(tasks, named, self._clock), strict=True))
        self._receiving = begun.get(_INTAKE, self._receiving)

    def _speaking(self) -> dict[str, Work]:
        """The tasks that deliver and show work, by name."""
        works: dict[str, Work] = {"delivery": self._delivery.run}
        if (sharing := self._hosting.sharing) is not None:
            works["outbox of other processes"] = partial(sharing.outbox, self.name, self._bus)
        typing = self._channel.capabilities.typing
        if typing or self._showing:
            works["activity"] = partial(self._activity.watch, self._ended)
        if typing:
            works["typing"] = self._show_typing
        for showing in self._showing:
            works[type(showing).__name__.lower()] = showing.run
        return works

    def _receiving_works(self, intake: ChannelIntake) -> dict[str, Work]:
        """The tasks for receiving."""
        channel, works = self._channel, dict[str, Work]()
        if self._hosting.fetcher is not None:
            works["files"] = self._hosting.fetcher.run
            if (sharing := self._hosting.sharing) is not None and isinstance(channel, Receiving):
                works["files of other processes"] = partial(sharing.files, self.name, self._bus)
        works["commands in progress"] = self._commands.run
        works[_INTAKE] = partial(self._receive, intake)
        if channel.capabilities.heartbeat is not None:
            works["heartbeat"] = partial(self._watch_heart, channel.capabilities.heartbeat)
        if isinstance(channel, Recalling):
            self._missed = MissedReactions(self.name, channel, intake, self.moved, self._clock)
            works["missed reactions"] = self._missed.run
        if self._menus is not None:
            works["commands"] = partial(self._show_menus, self._menus)
        return works

    def drafted(self, address: Address) -> str:
        """The text of the chat's draft; see intake.Host."""
        for showing in self._showing:
            text = showing.draft(address)
            if text is not None:
                return text or self._bus.peers.draft_in(address)
        return ""

    async def _release(self, key: str) -> None:
        for showing in self._showing:
            await showing.release(key)

    def _may_depart(self, message: OutboundMessage) -> bool:
        """Whether the chat shows nothing that the message must replace, or wait for. Clients that
        attach see that a run ended before they see its answer."""
        if self._channel.capabilities.waits:
            return False
        return not any(showing.holds(message.key) for showing in self._showing)

    def _ended(self, ended: RunEnded) -> None:
        for showing in self._showing:
            showing.ended(ended)

    async def _show_menus(self, menus: Menus) -> None:
        """Set the platform's command menus when it is reachable."""
        await self._first_up.wait()
        await menus.run()

    def stop_intake(self) -> None:
        """Stop receiving; delivery continues."""
        if self._receiving is not None:
            self._receiving.cancel()

    async def flush(self, seconds: float) -> None:
        """Wait at most `seconds` for sends in progress. No new preview begins."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for showing in self._showing:
                    await showing.rest()
        await self._delivery.flush(seconds)

    async def close(self) -> None:
        """Disconnect from the platform."""
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
            delay = requested or self._backoff.delay(failures)
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

    async def _show_typing(self) -> None:
        shown: dict[str, float] = {}
        while True:
            await self._activity.any()
            await self._clock.sleep(TYPING_AFTER)
            now = self._clock.monotonic()
            runs = list(self._activity.runs.values())
            shown = {run.run_id: shown[run.run_id] for run in runs if run.run_id in shown}
            for run in runs:
                due = shown.get(run.run_id, run.since + TYPING_AFTER)
                if due > now or any(showing.shows(run) for showing in self._showing):
                    continue
                if self._sender.rates.free(run.address.chat_id):
                    shown[run.run_id] = now + TYPING_EVERY
                    with boundary(f"typing in {run.address}"):
                        await self._typing(run)

    async def _typing(self, run: RunInProgress) -> None:
        channel, there = self._channel, self.moved.there(run.address)
        try:
            async with asyncio.timeout(5):
                if run.tool and isinstance(channel, Telling):
                    await channel.tell(there, run.tool)
                else:
                    await channel.typing(there)
        except (ChannelError, TimeoutError) as error:
            logger.debug("{}: typing could not be shown: {}", run.address, error)
