"""The doors of channels in this process: they take HTTP requests of platforms."""

from __future__ import annotations

from nanobot.app.hosting import ChannelStarter, gate_of
from nanobot.boundary import boundary
from nanobot.channels.host import ChannelHost
from nanobot.errors import PluginBroken
from nanobot.plugins.http.doors import Door, DoorIntake
from nanobot.ports import Fetching, Intake, Receiving


class ChannelDoors:
    """One door per channel that takes requests, whichever process serves the channel: messages
    admitted here are in the shared store."""

    def __init__(self, starter: ChannelStarter) -> None:
        self._starter = starter
        self._doors: dict[str, Door] = {}

    def __bool__(self) -> bool:
        """Whether any configured channel takes requests. Raises ConfigError."""
        return any(self._receiving(name) is not None for name in self._starter.config.channels)

    def __call__(self, name: str) -> Door | None:
        """The door of one channel; None if it takes no requests."""
        if name not in self._doors:
            door = self._made(name)
            if door is None:
                return None
            self._doors[name] = door
        return self._doors[name]

    def _made(self, name: str) -> Door | None:
        starter = self._starter
        channel = self._receiving(name)
        if channel is None:
            return None
        if isinstance(channel, Fetching):
            starter.bus.files_came(name)  # messages wait for their files, fetched anywhere
        able = starter.adapters.of(name).capabilities
        gate = gate_of(starter.config.channels[name], able, starter.strangers)

        def made(host: ChannelHost | None) -> Intake:
            policy = starter.config.agent.session_policy
            return DoorIntake(name, gate, starter.bus, starter.reception, policy, host)

        intakes: dict[ChannelHost | None, Intake] = {}

        def intake() -> Intake:
            host = starter.channels.hosts.get(name)
            host = host if host is not None and host.speaks else None
            return intakes.get(host) or intakes.setdefault(host, made(host))

        return Door(name, channel, intake, starter.clock)

    def _receiving(self, name: str) -> Receiving | None:
        """The adapter if its platform may send requests; None for every other name."""
        settings = self._starter.config.channels.get(name)
        if settings is None or not settings.enabled:
            return None
        try:
            channel = self._starter.adapters.of(name)
        except PluginBroken:
            return None
        return channel if isinstance(channel, Receiving) else None

    async def close(self) -> None:
        """Close the adapters that have no host."""
        for name, channel in self._starter.adapters.opened.items():
            if name not in self._starter.channels.hosts:
                with boundary(f"closing {name}"):
                    await channel.close()
