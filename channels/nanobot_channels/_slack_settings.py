"""What a `[channels.NAME]` table of Slack's says."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nanobot.errors import ConfigError
from nanobot_channels._slack_backfill import Bounds
from nanobot_channels._slack_receiving import PROMPTS, Policy

DEFAULT_API_ROOT = "https://slack.com/api/"
MOST_PROMPTS = 4
"""What assistant.threads.setSuggestedPrompts takes."""


class Settings:
    """One table. Every method raises ConfigError for what cannot work."""

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        self._name = name
        self._settings = settings

    def tokens(self) -> tuple[str, str]:
        """The bot's and the app's."""
        bot = self._token(
            "bot_token",
            "xoxb-",
            "the Bot User OAuth Token on api.slack.com/apps, your app, OAuth & Permissions",
        )
        app = self._token(
            "app_token",
            "xapp-",
            "an app-level token with the scope connections:write, which api.slack.com/apps, your "
            "app, Basic Information, App-Level Tokens generates",
        )
        return bot, app

    def api_root(self) -> str:
        root = self._settings.get("api_root", DEFAULT_API_ROOT)
        pattern = r"https?://[^\s/{}?#]+[^\s{}?#]*$"
        if not isinstance(root, str) or not re.match(pattern, root.strip()):
            raise self._wrong(
                "api_root", f"is not an http(s) URL: remove it to use {DEFAULT_API_ROOT}"
            )
        return root.strip().rstrip("/") + "/"

    def policy(self) -> Policy:
        threads = self._settings.get("threads", "auto")
        if threads not in ("auto", "always", "never"):
            raise self._wrong(
                "threads",
                f'is {threads!r}: use "auto" (threads in channels), "always" or "never"',
            )
        slash = self._settings.get("slash_command", "")
        if not isinstance(slash, str) or (slash and not re.fullmatch(r"/[^\s/]+", slash)):
            raise self._wrong(
                "slash_command",
                f"is {slash!r}: write it as in the app's settings on api.slack.com, for example "
                '"/nanobot"',
            )
        return Policy(
            str(threads),
            slash,
            self._bounds(),
            link_previews=self._flag("link_previews", usual=False),
            prompts=self._prompts(),
            feedback=self._flag("feedback", usual=True),
        )

    def _flag(self, key: str, *, usual: bool) -> bool:
        value = self._settings.get(key, usual)
        if not isinstance(value, bool):
            raise self._wrong(key, f"is {value!r}: use true or false")
        return value

    def _prompts(self) -> tuple[str, ...]:
        """What the assistant's pane suggests; none with an empty list."""
        prompts = self._settings.get("prompts", list(PROMPTS))
        listed = prompts if isinstance(prompts, list) else [None]
        if len(listed) > MOST_PROMPTS or not all(
            isinstance(one, str) and one.strip() for one in listed
        ):
            raise self._wrong("prompts", f"must be a list of at most {MOST_PROMPTS} texts")
        return tuple(listed)

    def _token(self, key: str, prefix: str, source: str) -> str:
        token = self._settings.get(key)
        if not isinstance(token, str) or not re.fullmatch(rf"{prefix}[\w.%-]+", token.strip()):
            odd = f"does not begin with {prefix}, or has odd characters"
            raise self._wrong(key, f"{odd if token else 'is missing'}: put {source}, there.")
        return token.strip()

    def _bounds(self) -> Bounds:
        messages = self._settings.get("backfill_messages", 100)
        hours = self._settings.get("backfill_hours", 24)
        if isinstance(messages, bool) or not isinstance(messages, int) or not 0 <= messages <= 1000:
            raise self._wrong("backfill_messages", f"is {messages!r}: use a number from 0 to 1000")
        if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= 720:
            raise self._wrong("backfill_hours", f"is {hours!r}: use a number from 0 to 720")
        return Bounds(messages, float(hours))

    def _wrong(self, key: str, why: str) -> ConfigError:
        return ConfigError(f"channels.{self._name}.{key} {why}")
