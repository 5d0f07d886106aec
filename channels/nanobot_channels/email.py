"""E-mail over IMAP and SMTP."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.errors import ConfigError
from nanobot.ports import Channel
from nanobot_channels._email_settings import settings_of


def open_channel(name: str, settings: Mapping[str, object]) -> Channel:
    """The channel of one `[channels.NAME]` table; docs/channels/email.md has the keys.

    Raises ConfigError for settings that cannot work, and where the libraries for e-mail are not
    installed; nothing is connected yet.
    """
    made = settings_of(name, settings)
    try:
        from nanobot_channels._email_channel import (  # noqa: PLC0415 - an extra
            EmailChannel,
        )
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"channels.{name}: {error.name} is not installed, which e-mail needs: "
            "pip install 'nanobot[email]'"
        ) from error
    return EmailChannel(name, made)
