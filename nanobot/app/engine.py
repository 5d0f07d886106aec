"""Facts about the running gateway."""

from __future__ import annotations

import os
from collections.abc import Mapping

from nanobot import __version__
from nanobot.app.hosting import HostedChannels
from nanobot.app.roles import Roles
from nanobot.config.loader import Config
from nanobot.operations.home import Facts
from nanobot.troubles import TROUBLES


def facts_of(
    config: Config, channels: HostedChannels, url: str, watches: Mapping[str, str], roles: Roles
) -> Facts:
    """Facts about this process's gateway; `url`: its HTTP service."""
    chats = config.served if roles.channels else ()
    return Facts(
        version=__version__,
        home=str(config.home),
        pid=os.getpid(),
        serving=channels.serving,
        channels=dict.fromkeys(chats, "off") | channels.states(),
        lacks=channels.lacks,
        addressed=config.addressed,
        web=url,
        watches=watches,
        role=str(roles),
        troubles=tuple(map(str, TROUBLES.recent())),
    )
