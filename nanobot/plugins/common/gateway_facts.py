"""What a gateway says of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from nanobot import __version__
from nanobot.plugins.common.jobs.triggers import Triggers
from nanobot.seam.http import Http
from nanobot.text import Sentence
from nanobot.troubles import TROUBLES

if TYPE_CHECKING:  # loads more than --help needs
    from nanobot.app.hosting import HostedChannels
    from nanobot.app.roles import Roles
    from nanobot.config.loader import Config
    from nanobot.seam.offers import Offers


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway says of itself."""

    version: str
    home: str
    pid: int
    serving: bool
    """False: the store is open, but nothing runs."""
    channels: Mapping[str, str]
    addressed: tuple[str, ...] = ()
    """The channels that a message can be sent to."""
    web: str = ""
    watches: Mapping[str, str] = {}
    """What those of the machine saw last."""
    role: str = "all"
    """What of it all this process does."""
    troubles: tuple[str, ...] = ()
    """What failed lately."""
    lacks: Mapping[str, Sentence] = {}
    """What channels cannot do, and why."""


class GatewayFacts:
    """Those of one gateway, as they are now. The plugin `top` offers it, on or off."""

    def __init__(
        self, config: Config, channels: HostedChannels, roles: Roles, offers: Offers
    ) -> None:
        self._home = str(config.home)
        self._served, self._addressed = config.served, config.addressed
        self._channels, self._configured = channels, config.channels
        self._roles = roles
        self._offers = offers

    def now(self) -> Facts:
        """What it says now."""
        chats = self._served if self._roles.channels else ()
        http: Http = self._offers.find(Http) or Http()
        triggers: Triggers | None = self._offers.find(Triggers)
        return Facts(
            version=__version__,
            home=self._home,
            pid=os.getpid(),
            serving=bool(self._channels.hosts),
            channels=dict.fromkeys(chats, "off") | self._channels.states(self._configured),
            lacks=self._channels.lacks,
            addressed=self._addressed,
            web=http.url,
            watches={} if triggers is None else triggers.seen(),
            role=str(self._roles),
            troubles=tuple(map(str, TROUBLES.recent())),
        )
