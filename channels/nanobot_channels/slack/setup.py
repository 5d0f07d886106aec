"""The questions for a person who connects Slack."""

from __future__ import annotations

from nanobot.ports import Setup, SetupField

SETUP = Setup(
    title="Slack",
    steps=(
        "On api.slack.com/apps make an app from the manifest in the page below, generate an "
        "app-level token (Basic Information; scope connections:write), and install the app to "
        "your workspace (OAuth & Permissions)."
    ),
    docs="docs/channels/slack.md",
    fields=(
        SetupField(
            key="bot_token",
            asks="Bot User OAuth Token, xoxb-...",
            secret=True,
            variables=("SLACK_BOT_TOKEN",),
        ),
        SetupField(
            key="app_token",
            asks="App-level token, xapp-...",
            secret=True,
            variables=("SLACK_APP_TOKEN",),
        ),
        SetupField(
            key="slash_command",
            asks="Slash command of the manifest, such as /nanobot",
            optional=True,
        ),
    ),
    person="Your member id (U...)",
    pattern=r"[UW][A-Z0-9]+",
    knock="Write something to {bot} in Slack, under Apps",
)
