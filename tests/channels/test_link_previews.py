"""link_previews is a key of every channel, and every adapter can be opened with and without it."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.channels.loading import open_channel
from nanobot.config.settings.channels import ChannelSettings

MAIL = {
    "imap_host": "localhost",
    "smtp_host": "localhost",
    "user": "bot@example.org",
    "password": "p",
    "trusted_authserv": ["localhost"],
}
KINDS: dict[str, dict[str, Any]] = {
    "telegram": {"token": "1:a"},
    "discord": {"token": "t"},
    "slack": {"bot_token": "xoxb-1", "app_token": "xapp-1"},
    "matrix": {"homeserver": "https://example.org", "user": "@b:example.org", "password": "p"},
    "email": MAIL,
    "udp": {"token": "long enough", "port": 7000},
}


@pytest.mark.parametrize("previews", [False, True])
@pytest.mark.parametrize("kind", KINDS)
async def test_every_adapter_can_be_opened(kind: str, *, previews: bool) -> None:
    settings = ChannelSettings(type=kind, link_previews=previews, settings=KINDS[kind])
    channel = open_channel("here", settings)
    await channel.close()
