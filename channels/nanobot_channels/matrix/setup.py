"""The questions for a person who connects Matrix."""

from __future__ import annotations

from nanobot.ports import Setup, SetupField

SETUP = Setup(
    title="Matrix",
    steps=(
        "An account for the bot on any homeserver, made with a client such as Element. Rooms for "
        "it have to be made without encryption."
    ),
    docs="docs/channels/matrix.md",
    fields=(
        SetupField(key="user", asks="The bot's id, @nanobot:example.org"),
        SetupField(key="homeserver", asks="The homeserver's address", usual="https://@user"),
        SetupField(
            key="password", asks="Its password", secret=True, variables=("MATRIX_PASSWORD",)
        ),
    ),
    person="Your id, @you:example.org",
    pattern=r"@\S+:\S+",
    knock="Invite {bot} to a room without encryption, and write something there",
)
