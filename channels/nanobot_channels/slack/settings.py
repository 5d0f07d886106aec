"""The settings in a `[channels.NAME]` table of Slack."""

from __future__ import annotations

from nanobot_channels.common.settings import Table
from nanobot_channels.slack.backfill import Bounds
from nanobot_channels.slack.receiving import PROMPTS, Policy

DEFAULT_API_ROOT = "https://slack.com/api/"
MOST_PROMPTS = 4
"""The limit of assistant.threads.setSuggestedPrompts."""


def tokens_of(table: Table) -> tuple[str, str]:
    """The bot's and the app's tokens. Raises ConfigError, like all of these."""
    bot = (
        "put the Bot User OAuth Token on api.slack.com/apps, your app, OAuth & Permissions, there."
    )
    app = (
        "put an app-level token with the scope connections:write, which api.slack.com/apps, your "
        "app, Basic Information, App-Level Tokens generates, there."
    )
    return _token(table, "bot_token", "xoxb-", bot), _token(table, "app_token", "xapp-", app)


def _token(table: Table, key: str, prefix: str, source: str) -> str:
    odd = f"does not begin with {prefix}, or has odd characters"
    return table.token(key, rf"{prefix}[\w.%-]+", source, odd=odd)


def api_root_of(table: Table) -> str:
    """The URL of Slack, with a trailing slash."""
    return table.url("api_root", DEFAULT_API_ROOT).rstrip("/") + "/"


def policy_of(table: Table) -> Policy:
    """Settings of preference."""
    others = {"always": "also in direct messages", "never": "nowhere"}
    return Policy(
        table.choice("threads", "auto", others),
        table.text("slash_command", "", r"/[^\s/]+", 'for example "/nanobot"'),
        Bounds(
            table.number("backfill_messages", 100, 1000), table.number("backfill_hours", 24.0, 720)
        ),
        link_previews=table.flag("link_previews", usual=False),
        prompts=table.texts("prompts", PROMPTS, MOST_PROMPTS),
        feedback=table.flag("feedback", usual=True),
    )
