"""The channels that a gateway serves: their states, and how each is started."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from loguru import logger

from nanobot.bus.core import Bus
from nanobot.bus.gate import Gate, GroupMode, Strangers
from nanobot.channels.attachments import AttachmentFetcher
from nanobot.channels.chat_leases import Sharing
from nanobot.channels.companions import ChannelParts, Companion
from nanobot.channels.host import ChannelHost, Hosting
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import open_channel, reception
from nanobot.channels.reception import Reception
from nanobot.config.loader import ChannelSettings, Config
from nanobot.errors import PluginBroken
from nanobot.messages import TERMINAL
from nanobot.operations.dispatcher import Dispatcher
from nanobot.ports import (
    Capabilities,
    Channel,
    Clock,
    Fetching,
    Receiving,
)
from nanobot.seam.entry_points import Plugins
from nanobot.seam.http import Http
from nanobot.store.unit import ChannelOwners
from nanobot.supervision import supervised
from nanobot.text import Sentence
from nanobot.workspace.received import Received

_READY_SECONDS = 10.0
_FLUSH_SECONDS = 5.0
_ASKING_SECONDS = 0.05
_NOBODY = Gate((), ())


def _always(_chat: str) -> bool:
    return True


class HostedChannels:
    """The channels that this process serves, in the order in which they were started."""

    def __init__(self) -> None:
        self._hosts: list[ChannelHost] = []
        self._broken: list[str] = []
        self._unlisted: set[str] = set()
        self.lacks: dict[str, Sentence] = {}
        """What some of them cannot do, and why."""

    @property
    def serving(self) -> bool:
        """Whether any was started; at rest none is."""
        return bool(self._hosts)

    def add(self, host: ChannelHost, *, listed: bool = True) -> None:
        self._hosts.append(host)
        if not listed:
            self._unlisted.add(host.name)

    def add_broken(self, name: str) -> None:
        """Its adapter cannot be used; its state is "failed"."""
        self._broken.append(name)

    def states(self) -> dict[str, str]:
        """The state of each channel of the configuration."""
        states = dict.fromkeys(self._broken, "failed")
        listed = [host for host in self._hosts if host.name not in self._unlisted]
        return states | {host.name: host.state for host in listed}

    def serves(self) -> list[str]:
        """The channels that no other process can serve now."""
        ours = ("up", "down", "wedged")
        return [host.name for host in self._hosts if host.name != TERMINAL and host.state in ours]

    def is_up(self, channel: str) -> bool:
        """Whether receipts from it can be expected."""
        return any(host.name == channel and host.state == "up" for host in self._hosts)

    def host(self, channel: str) -> ChannelHost | None:
        """The one of that name, if it was begun."""
        return next((host for host in self._hosts if host.name == channel), None)

    def takes_files(self, channel: str) -> bool:
        """Whether a channel takes files, as far as it is served here."""
        return all(host.takes_files for host in self._hosts if host.name == channel)

    async def asked(self) -> None:
        """Return once each has sent its first request: it has succeeded or failed, or has had the
        time for that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_ASKING_SECONDS):
                for host in self._hosts:
                    await host.settled.wait()

    async def settled(self) -> None:
        """Return once each has succeeded or failed for the first time, or after 10 s."""
        await _all_settled(self._hosts, _READY_SECONDS)

    async def stop_intake(self) -> None:
        """Stop taking new messages; sends continue."""
        async with asyncio.TaskGroup() as tasks:
            for host in self._hosts:
                tasks.create_task(host.stop_intake(), name=f"{host.name}: stopping")

    async def rest(self, seconds: float) -> None:
        """Let commands in progress finish, for so many seconds at most."""
        async with asyncio.TaskGroup() as tasks:
            for host in self._hosts:
                tasks.create_task(host.rest(seconds), name=f"{host.name}: commands")

    async def flush(self) -> None:
        """Let sends in progress finish, for 5 s at most."""
        for host in self._hosts:
            await host.flush(_FLUSH_SECONDS)

    async def close(self) -> None:
        for host in self._hosts:
            await host.close()


class Adapters:
    """The adapters of the configured channels, each opened once. `http` takes the requests of their
    platforms."""

    def __init__(self, config: Config, plugins: Plugins, http: Http) -> None:
        self.http = http
        self._config = config
        self._plugins = plugins
        self._opened: dict[str, Channel] = {}
        self._broken: dict[str, PluginBroken] = {}

    def of(self, name: str) -> Channel:
        """The adapter of a configured channel. Raises ConfigError and PluginBroken."""
        if name in self._broken:
            raise self._broken[name]
        if name not in self._opened:
            try:
                channel = open_channel(name, self._config.channels[name], self._plugins)
            except PluginBroken as broken:
                self._broken[name] = broken
                raise
            if isinstance(channel, Receiving) and not self.http.lacks:
                channel.reached_at(self.http.channel_url(name))
            self._opened[name] = channel
        return self._opened[name]

    def receiving(self, name: str) -> Receiving | None:
        """The adapter if its platform may send requests; None for every other name."""
        settings = self._config.channels.get(name)
        if settings is None or not settings.enabled:
            return None
        try:
            channel = self.of(name)
        except PluginBroken:
            return None
        return channel if isinstance(channel, Receiving) else None

    def opened(self) -> Mapping[str, Channel]:
        """Those that were opened, by name."""
        return self._opened


class ChannelStarter(msgspec.Struct, frozen=True, kw_only=True):
    """Starts channels as tasks and adds them to `channels`."""

    config: Config
    channels: HostedChannels
    bus: Bus
    text_of: Callable[[str], str | None]
    """A run's text so far, in whichever process it is driven."""
    operations: Dispatcher
    adapters: Adapters
    received: Received
    clock: Clock
    sharing: Sharing = Sharing()
    """See Hosting."""
    strangers: Strangers | None = None
    """What gates ask about people who are not in the configuration."""
    companions: Callable[[ChannelParts], Sequence[Companion]]
    """See Hosting."""

    @property
    def reception(self) -> Reception:
        """What every intake asks of this gateway."""
        return reception(self.operations)

    def intake(self, name: str, gate: Gate, host: ChannelHost | None = None) -> ChannelIntake:
        """The intake of a channel, which notifies its host."""
        policy = self.config.agent.session_policy
        return ChannelIntake(name, gate, self.bus, self.reception, policy, host)

    def start_brought(
        self, tasks: asyncio.TaskGroup, channels: Mapping[str, Channel]
    ) -> list[asyncio.Task[None]]:
        """Start the channels that plugins bring, which let their people in themselves."""
        # Every process shows what it sends to its own clients.
        return [
            self._start(
                tasks,
                name,
                channel,
                _NOBODY,
                Hosting(sharing=self.sharing, attended=getattr(channel, "attended", _always)),
            )
            for name, channel in channels.items()
        ]

    def start_configured(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Start the configured channels, except broken ones. Raises ConfigError."""
        return [
            task
            for name, settings in self.config.channels.items()
            if settings.enabled
            for task in self._start_configured(tasks, name, settings)
        ]

    def _start_configured(
        self, tasks: asyncio.TaskGroup, name: str, settings: ChannelSettings
    ) -> list[asyncio.Task[None]]:
        try:
            channel = self.adapters.of(name)
        except PluginBroken:
            self.channels.add_broken(name)
            return []
        lacks = self.adapters.http.lacks
        if lacks and isinstance(channel, Receiving):
            self.channels.lacks[name] = lacks
            logger.warning("{}: {}", name, lacks)
        gate = gate_of(settings, channel.capabilities, self.strangers)
        return [self._start(tasks, name, channel, gate, self._hosting(name, channel, settings))]

    def _hosting(self, name: str, channel: Channel, settings: ChannelSettings) -> Hosting:
        fetcher = None
        if isinstance(channel, Fetching):
            limit = settings.max_attachment_mb * 1_000_000
            fetcher = AttachmentFetcher(name, channel, self.bus, self.clock, self.received, limit)
        return Hosting(
            settings=settings,
            companions=self.companions,
            text_of=self.text_of,
            blobs=self.received.blobs,
            fetcher=fetcher,
            arrived=self.operations.engine.records.arrived,
            sharing=self.sharing,
        )

    def _start(
        self,
        tasks: asyncio.TaskGroup,
        name: str,
        channel: Channel,
        gate: Gate,
        hosting: Hosting,
    ) -> asyncio.Task[None]:
        rng = random.Random()  # noqa: S311 - jitter, nothing secret
        host = ChannelHost(name, channel, self.bus, self.clock, rng, hosting)
        self.channels.add(host, listed=name in self.config.channels)
        serving = partial(host.run, self.intake(name, gate, host))
        work = supervised(f"channel {name}", serving, self.clock)
        return tasks.create_task(work, name=f"channel {name}")


def gate_of(
    settings: ChannelSettings, able: Capabilities, strangers: Strangers | None = None
) -> Gate:
    """The gate of a channel, from its settings and abilities."""
    groups = GroupMode(usual=settings.groups, prefix=settings.prefix, chats=settings.chats)
    return Gate(
        settings.owners,
        settings.members,
        settings.guests,
        groups,
        strangers=strangers if settings.pairing else None,
        able=able,
    )


def owners_of(channels: Mapping[str, ChannelSettings]) -> dict[str, ChannelOwners]:
    """Who the gate of each configured channel takes for owners."""
    return {
        name: ChannelOwners(tuple(settings.owners), settings.pairing)
        for name, settings in channels.items()
    }


def hosted(config: Config, *, asking: bool) -> Config:
    """The configuration that channels are served by. Unless `asking`, strangers cannot ask for
    access anywhere, because nothing would answer them."""
    if asking:
        return config
    channels = {
        name: msgspec.structs.replace(settings, pairing=False)
        for name, settings in config.channels.items()
    }
    return msgspec.structs.replace(config, channels=channels)


async def _all_settled(hosts: Sequence[ChannelHost], seconds: float) -> None:
    """Wait for each channel's first success or failure, with a time limit."""
    try:
        async with asyncio.timeout(seconds):
            for host in hosts:
                await host.settled.wait()
    except TimeoutError:
        logger.warning("some channels have not answered yet")
