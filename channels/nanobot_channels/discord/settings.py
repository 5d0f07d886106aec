"""What a `[channels.NAME]` table of Discord's says."""

from __future__ import annotations

import msgspec

from nanobot_channels.common.settings import Table
from nanobot_channels.discord.receiving import Limits

DEFAULT_API_ROOT = "https://discord.com/api/v10"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of Discord. With an empty `gateway_url` the API is asked for it.
    `link_previews`: links in messages have previews.
    """

    api_root: str = DEFAULT_API_ROOT
    gateway_url: str = ""
    link_previews: bool = False


def token_of(table: Table) -> str:
    """The bot's token. Raises ConfigError, as all of these."""
    source = (
        "on discord.com/developers/applications choose your application, Bot, Reset Token, and "
        "put that token there."
    )
    return table.token("token", r"(Bot )?[!-~]+", source).removeprefix("Bot ")


def server_of(table: Table) -> Server:
    """Where Discord is."""
    return Server(
        api_root=table.url("api_root", DEFAULT_API_ROOT),
        gateway_url=table.url("gateway_url", "", scheme="wss?"),
        link_previews=table.flag("link_previews", usual=False),
    )


def limits_of(table: Table) -> Limits:
    """How far to look back, and whether message content is available."""
    usual = Limits()
    why = "; false hears only direct messages and mentions, and needs no Message Content Intent"
    return Limits(
        messages=table.number("backfill_messages", usual.messages, 10_000),
        hours=table.number("backfill_hours", usual.hours, 10_000),
        content=table.flag("message_content", usual=usual.content, why=why),
    )
