"""The settings of a mailbox."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Annotated

import msgspec

from nanobot.errors import ConfigError
from nanobot.system import is_loopback

ADDRESS = re.compile(r"[^\s@<>\"]+@[A-Za-z0-9.-]+")


# Settings of every channel: here the gate makes all decisions about people, and mails show no
# previews.
_OF_ALL = frozenset({"owners", "members", "guests", "pairing", "link_previews"})


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """This channel's own keys of `[channels.NAME]`."""

    imap_host: str
    smtp_host: str
    user: str
    password: str
    trusted_authserv: list[str]
    imap_port: Annotated[int, msgspec.Meta(ge=1, le=65_535)] = 993
    smtp_port: Annotated[int, msgspec.Meta(ge=1, le=65_535)] = 465
    tls: bool = True
    address: str = ""
    folder: str = "INBOX"
    sent_folder: str = ""

    def __repr__(self) -> str:
        return f"Settings({self.user} at {self.imap_host})"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The IMAP or SMTP server with the login; `address` is the sender. `tls`: the TLS settings;
    None: no encryption.
    """

    name: str
    host: str
    port: int
    user: str
    password: str
    address: str
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        return f"Server({self.host}:{self.port})"


def settings_of(name: str, settings: Mapping[str, object]) -> Settings:
    """The checked table. Raises ConfigError for invalid settings."""
    try:
        own = {key: value for key, value in settings.items() if key not in _OF_ALL}
        if isinstance(trusted := own.get("trusted_authserv"), str):
            # As in a variable of the environment.
            own["trusted_authserv"] = [server.strip() for server in trusted.split(",")]
        converted = msgspec.convert(own, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"channels.{name}: {error}. It needs imap_host, smtp_host, user, password and "
            "trusted_authserv; docs/channels/email.md explains them"
        ) from None
    for key in ("imap_host", "smtp_host", "user", "password", "folder"):
        if not getattr(converted, key).strip() or re.search(r"[\r\n\0]", getattr(converted, key)):
            raise ConfigError(f"channels.{name}.{key} is empty, or has line ends in it")
    address = converted.address or converted.user
    if not ADDRESS.fullmatch(address.strip()) or not address.isascii():
        raise ConfigError(
            f"channels.{name}.address is {address!r}, which is not an e-mail address: put the "
            f"one that "
            "people write to there"
        )
    if not any(server.strip() for server in converted.trusted_authserv):
        raise ConfigError(
            f"channels.{name}.trusted_authserv is empty: anybody can write anything into From, so "
            "put the name there that your provider begins its Authentication-Results headers with "
            "(mx.google.com, for example)"
        )
    if not converted.tls and not (
        is_loopback(converted.imap_host) and is_loopback(converted.smtp_host)
    ):
        raise ConfigError(
            f"channels.{name}.tls is false, which sends the password in the clear: it may be so "
            "for servers on this machine only. Remove it"
        )
    return converted
