"""What a person is asked to connect Discord."""

from __future__ import annotations

from nanobot.ports import Setup, SetupField

SETUP = Setup(
    title="Discord",
    steps=(
        "On discord.com/developers/applications choose New Application; under Bot switch on "
        "Message Content Intent, then Reset Token shows the token. The page below has the link "
        "that invites the bot to a server of yours."
    ),
    docs="docs/channels/discord.md",
    fields=(SetupField(key="token", asks="Token", secret=True, variables=("DISCORD_TOKEN",)),),
    person="Your user id, a long number",
    pattern=r"\d{1,20}",
    knock="Write something to {bot} in a direct message",
)
