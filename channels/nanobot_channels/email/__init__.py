"""E-mail over IMAP and SMTP."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.errors import ConfigError
from nanobot.ports import Channel, Setup, SetupField
from nanobot.system import Installation
from nanobot_channels.email.settings import settings_of

SETUP = Setup(
    title="E-mail",
    steps=(
        "An account of the assistant's own (all that comes there is read and answered). Many "
        "providers want an app password for programs, made in the settings of the account. "
        "What begins the topmost Authentication-Results header of a mail in that account "
        "(Show original) is the name of the server whose word on senders counts."
    ),
    docs="docs/channels/email.md",
    fields=(
        SetupField(key="user", asks="The account's address, which is the login too"),
        SetupField(key="password", asks="Its password", secret=True, variables=("EMAIL_PASSWORD",)),
        SetupField(key="imap_host", asks="Server for reading (IMAP)", usual="imap.@user"),
        SetupField(key="smtp_host", asks="Server for sending (SMTP)", usual="smtp.@user"),
        SetupField(
            key="trusted_authserv",
            asks="Whose Authentication-Results count",
            many=True,
            usual="mx.@user",
        ),
        SetupField(
            key="sent_folder",
            asks="Folder where the provider stores sent mail",
            optional=True,
        ),
    ),
    person="Your own address",
    pattern=r"[^\s@<>\"]+@[^\s@<>\"]+",
    knock="Send a mail to {bot} from your own address",
)


def open_channel(name: str, settings: Mapping[str, object]) -> Channel:
    """The channel of one `[channels.NAME]` table; docs/channels/email.md has the keys.

    Raises ConfigError for invalid settings, and if the libraries for e-mail are not installed; it
    does not connect yet.
    """
    own = settings_of(name, settings)
    try:
        from nanobot_channels.email.channel import (  # noqa: PLC0415 - an extra
            EmailChannel,
        )
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"channels.{name}: {error.name} is not installed, which e-mail needs: "
            f"{Installation().adding('email')}"
        ) from error
    return EmailChannel(name, own)
