"""Discord over its gateway and HTTP API."""

from nanobot_channels.discord.channel import (
    DEFAULT_API_ROOT,
    FILE_LIMIT,
    SETUP,
    DiscordChannel,
    Server,
    open_channel,
)

__all__ = [
    "DEFAULT_API_ROOT",
    "FILE_LIMIT",
    "SETUP",
    "DiscordChannel",
    "Server",
    "open_channel",
]
