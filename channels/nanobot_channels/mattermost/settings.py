"""The settings in a `[channels.NAME]` table of Mattermost, and how people set one up."""

from __future__ import annotations

import msgspec

from nanobot.ports import Setup, SetupField
from nanobot_channels.common.settings import Table

SETUP = Setup(
    title="Mattermost",
    steps=(
        "In Mattermost choose Product menu, Integrations, Bot Accounts, Add Bot Account, and copy "
        "its token. A system administrator allows bot accounts in the System Console. Add the bot "
        "to a team and to channels. Buttons need web.public_url, which Mattermost must reach."
    ),
    docs="docs/channels/mattermost.md",
    fields=(
        SetupField(
            key="url",
            asks="Address of Mattermost, https://chat.example.org",
            variables=("MATTERMOST_URL",),
        ),
        SetupField(
            key="token",
            asks="Access token of the bot account",
            secret=True,
            variables=("MATTERMOST_TOKEN",),
        ),
    ),
    person="Your user id (26 letters and digits; Profile, or /nanobot says it)",
    pattern=r"[a-z0-9]{26}",
    knock="Send {bot} a direct message in Mattermost",
    keeps=True,
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`callback_url`: the URL at which Mattermost reaches this gateway, if it differs from the
    public one.
    """

    url: str
    token: str
    callback_url: str = ""


def settings_of(table: Table) -> Settings:
    """Raises ConfigError for invalid settings."""
    url = table.url("url", "")
    if not url:
        raise table.wrong("url", "is missing: put the address of Mattermost there")
    return Settings(
        url=url.removesuffix("/api/v4"),
        token=table.token(
            "token",
            r"[A-Za-z0-9]{26}",
            "put the token there that Integrations, Bot Accounts shows once.",
            odd="is not an access token, which has 26 letters and digits",
        ),
        callback_url=table.url("callback_url", ""),
    )
