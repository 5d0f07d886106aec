"""Telegram over the Bot API."""

from nanobot_channels.telegram.channel import (
    DEFAULT_API_ROOT,
    POLL_SECONDS,
    SETUP,
    TelegramChannel,
    open_channel,
)

__all__ = [
    "DEFAULT_API_ROOT",
    "POLL_SECONDS",
    "SETUP",
    "TelegramChannel",
    "open_channel",
]
