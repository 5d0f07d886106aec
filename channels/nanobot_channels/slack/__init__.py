"""Slack over Socket Mode and the Web API."""

from nanobot_channels.slack.channel import (
    DEFAULT_API_ROOT,
    SCOPES,
    SETUP,
    SlackChannel,
    open_channel,
)

__all__ = [
    "DEFAULT_API_ROOT",
    "SCOPES",
    "SETUP",
    "SlackChannel",
    "open_channel",
]
