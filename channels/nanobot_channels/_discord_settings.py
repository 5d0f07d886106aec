"""What a `[channels.NAME]` table of Discord's says."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from nanobot.errors import ConfigError
from nanobot_channels._discord_receiving import Limits

DEFAULT_API_ROOT = "https://discord.com/api/v10"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of Discord. With an empty `gateway_url` the API is asked for it.
    `link_previews`: links in messages show what is behind them."""

    api_root: str = DEFAULT_API_ROOT
    gateway_url: str = ""
    link_previews: bool = False


class Settings:
    """One table. Every method raises ConfigError for what cannot work."""

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        self._name = name
        self._settings = settings

    def token(self) -> str:
        token = self._settings.get("token")
        if not isinstance(token, str) or not re.fullmatch(r"(Bot )?[!-~]+", token.strip()):
            raise ConfigError(
                f"channels.{self._name}.token is {'not a bot token' if token else 'missing'}: on "
                "discord.com/developers/applications choose your application, Bot, Reset Token, "
                "and put what it shows there."
            )
        return token.strip().removeprefix("Bot ")

    def server(self) -> Server:
        return Server(
            api_root=self._url("api_root", "https?", DEFAULT_API_ROOT),
            gateway_url=self._url("gateway_url", "wss?", ""),
            link_previews=self._settings.get("link_previews") is True,
        )

    def limits(self) -> Limits:
        content = self._settings.get("message_content", True)
        if not isinstance(content, bool):
            raise ConfigError(
                f"channels.{self._name}.message_content is neither true nor false: false hears "
                "only direct messages and mentions, and needs no Message Content Intent."
            )
        return Limits(
            messages=int(self._number("backfill_messages", Limits().messages)),
            hours=self._number("backfill_hours", Limits().hours),
            content=content,
        )

    def _url(self, key: str, scheme: str, usual: str) -> str:
        value = self._settings.get(key, usual)
        if value == usual:
            return usual
        pattern = rf"{scheme}://[^\s/{{}}]+[^\s{{}}]*"
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            kind = "an http(s) URL like " + DEFAULT_API_ROOT if usual else "a ws(s) URL"
            raise ConfigError(
                f"channels.{self._name}.{key} is not {kind}: remove it to use Discord's own."
            )
        return value.rstrip("/")

    def _number(self, key: str, usual: float) -> float:
        value = self._settings.get(key, usual)
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not right or not isinstance(value, int | float) or not 0 <= value <= 10_000:
            raise ConfigError(
                f"channels.{self._name}.{key} is not a number from 0 to 10000: remove it for "
                f"{usual:g}, or set 0 to look nothing up after a restart."
            )
        return value
