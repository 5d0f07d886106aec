"""The channels that a gateway serves: their states, and how each is started."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Container, Mapping
from functools import partial

import msgspec
from loguru import logger

from nanobot.bus.core import Bus
from nanobot.bus.gate import Gate, GroupMode, Strangers
from nanobot.channels.attachments import AttachmentFetcher
from nanobot.channels.host import ChannelHost, Hosting
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import open_channel, reception
from nanobot.channels.reception import Reception
from nanobot.config.loader import ChannelSettings, Config
from nanobot.errors import PluginBroken
from nanobot.operations.dispatcher import Dispatcher
from nanobot.ports import Capabilities, Channel, Clock, Fetching, Receiving
from nanobot.seam.entry_points import Plugins
from nanobot.seam.http import Http
from nanobot.store.unit import ChannelOwners
from nanobot.supervision import begin_all
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
        self.hosts: dict[str, ChannelHost] = {}
        """By name; at rest there is none."""
        self.broken: list[str] = []
        """Channels whose adapters cannot be used."""
        self.lacks: dict[str, Sentence] = {}
        """What some of them cannot do, and why."""

    def states(self, configured: Container[str]) -> dict[str, str]:
        """The state of each of these channels that was started, and of each that cannot be."""
        states = {name: host.state for name, host in self.hosts.items() if name in configured}
        return dict.fromkeys(self.broken, "failed") | states

    async def asked(self) -> None:
        """Return once each has sent its first request: it has succeeded or failed, or has had the
        time for that."""
        await self._settled(_ASKING_SECONDS)

    async def settled(self) -> None:
        """Return once each has succeeded or failed for the first time, or after 10 s."""
        if not await self._settled(_READY_SECONDS):
            logger.warning("some channels have not answered yet")

    async def _settled(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                for host in self.hosts.values():
                    await host.settled.wait()
        except TimeoutError:
            return False
        return True

    async def stop_intake(self) -> None:
        """Stop taking new messages; sends continue."""
        async with asyncio.TaskGroup() as tasks:
            for host in self.hosts.values():
                tasks.create_task(host.stop_intake(), name=f"{host.name}: stopping")

    async def rest(self, seconds: float) -> None:
        """Let commands in progress finish, for so many seconds at most."""
        async with asyncio.TaskGroup() as tasks:
            for host in self.hosts.values():
                tasks.create_task(host.rest(seconds), name=f"{host.name}: commands")

    async def flush(self) -> None:
        """Let sends in progress finish, for 5 s at most."""
        for host in self.hosts.values():
            await host.flush(_FLUSH_SECONDS)

    async def close(self) -> None:
        for host in self.hosts.values():
            await host.close()


class Adapters:
    """The adapters of the configured channels, each opened once. `http` takes the requests of their
    platforms."""

    def __init__(self, config: Config, plugins: Plugins, http: Http) -> None:
        self.http = http
        self._config = config
        self._plugins = plugins
        self.opened: dict[str, Channel] = {}
        self._broken: dict[str, PluginBroken] = {}

    def of(self, name: str) -> Channel:
        """The adapter of a configured channel. Raises ConfigError and PluginBroken."""
        if name in self._broken:
            raise self._broken[name]
        if name not in self.opened:
            try:
                channel = open_channel(name, self._config.channels[name], self._plugins)
            except PluginBroken as broken:
                self._broken[name] = broken
                raise
            if isinstance(channel, Receiving) and not self.http.lacks:
                channel.reached_at(self.http.channel_url(name))
            self.opened[name] = channel
        return self.opened[name]


class ChannelStarter(msgspec.Struct, frozen=True, kw_only=True):
    """Starts channels as tasks and adds them to `channels`."""

    config: Config
    channels: HostedChannels
    bus: Bus
    operations: Dispatcher
    adapters: Adapters
    received: Received
    clock: Clock
    hosting: Hosting
    """How every channel is hosted."""
    strangers: Strangers | None = None
    """What gates ask about people who are not in the configuration."""

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
        started = list[asyncio.Task[None]]()
        for name, channel in channels.items():
            # Every process shows what it sends to its own clients.
            attended = getattr(channel, "attended", _always)
            hosting = Hosting(sharing=self.hosting.sharing, attended=attended)
            started += self._start(tasks, name, channel, _NOBODY, hosting)
        return started

    def start_configured(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Start the configured channels, except broken ones. Raises ConfigError."""
        started, lacks = list[asyncio.Task[None]](), self.adapters.http.lacks
        for name, settings in self.config.channels.items():
            if not settings.enabled:
                continue
            try:
                channel = self.adapters.of(name)
            except PluginBroken:
                self.channels.broken.append(name)
                continue
            if lacks and isinstance(channel, Receiving):
                self.channels.lacks[name] = lacks
                logger.warning("{}: {}", name, lacks)
            gate = gate_of(settings, channel.capabilities, self.strangers)
            hosting = self._hosting(name, channel, settings)
            started += self._start(tasks, name, channel, gate, hosting)
        return started

    def _hosting(self, name: str, channel: Channel, settings: ChannelSettings) -> Hosting:
        fetcher = None
        if isinstance(channel, Fetching):
            limit = settings.max_attachment_mb * 1_000_000
            fetcher = AttachmentFetcher(name, channel, self.bus, self.clock, self.received, limit)
        return msgspec.structs.replace(self.hosting, settings=settings, fetcher=fetcher)

    def _start(
        self,
        tasks: asyncio.TaskGroup,
        name: str,
        channel: Channel,
        gate: Gate,
        hosting: Hosting,
    ) -> list[asyncio.Task[None]]:
        rng = random.Random()  # noqa: S311 - jitter, nothing secret
        host = ChannelHost(name, channel, self.bus, self.clock, rng, hosting)
        self.channels.hosts[name] = host
        serving = partial(host.run, self.intake(name, gate, host))
        return begin_all(tasks, {f"channel {name}": serving}, self.clock)


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
