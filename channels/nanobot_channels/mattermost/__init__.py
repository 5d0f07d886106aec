"""Mattermost, by a bot account: its websocket, the REST API, and requests for pressed buttons."""

from nanobot_channels.mattermost.channel import SETUP, MattermostChannel, open_channel

__all__ = ["SETUP", "MattermostChannel", "open_channel"]
