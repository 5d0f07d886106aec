"""Connects a channel: the adapter's questions, asked or given, tested before they are saved."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nanobot.config.loader import ChannelSettings, Config
from nanobot.config.values import follow, is_secret
from nanobot.errors import PluginBroken, UsageError
from nanobot.messages import Address
from nanobot.plugins.common.faces import GRADES
from nanobot.plugins.setup.views import ChannelField, ChannelTypeView
from nanobot.plugins.setup.writing import typed_value
from nanobot.ports import Setup, SetupField
from nanobot.seam.entry_points import CHANNELS, Plugins
from nanobot.seam.installed import provided

_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|file:.+")
_DOMAIN = re.compile(r"@(\w+)")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
# Control characters, and bytes from a terminal that are not UTF-8.
_UNFIT = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


class ChannelType(msgspec.Struct, frozen=True):
    """An installed type of channel. `broken`: why it cannot be used."""

    name: str
    setup: Setup
    broken: str = ""


def setup_of(kind: str, plugins: Plugins | None = None) -> Setup:
    """What to ask before a channel of that type can be opened; without questions if the adapter
    defines none. Raises PluginBroken, and KeyError for an unknown type."""

    def read(opener: Any) -> Setup:
        check_opener(opener, "a channel")
        setup = getattr(sys.modules.get(opener.__module__), "SETUP", None)
        if setup is not None and not isinstance(setup, Setup):
            raise PluginBroken(f"its SETUP is a {type(setup).__name__}, not a nanobot.ports.Setup")
        return setup or Setup(title=kind, steps="Its author says which keys its table needs.")

    return (plugins or Plugins()).opened(CHANNELS, kind, read)


def channel_types(environ: Mapping[str, str]) -> list[ChannelTypeView]:
    """The types as people see them."""
    types, graded = kinds(), provided(GRADES)
    names = [kind.name for kind in types]
    grades: Mapping[str, str] = {} if graded is None else graded(names)
    return [
        ChannelTypeView(
            name=kind.name,
            title=kind.setup.title,
            steps=kind.setup.steps,
            docs=kind.setup.docs,
            person=kind.setup.person,
            fields=[
                ChannelField(
                    key=field.key,
                    asks=field.asks,
                    secret=field.secret,
                    optional=field.optional,
                    many=field.many,
                    usual=field.usual,
                    variable=variable_of(field, environ),
                )
                for field in kind.setup.fields
            ],
            only=kind.setup.only,
            knock=kind.setup.knock,
            broken=kind.broken,
            grade=grades.get(kind.name, ""),
        )
        for kind in types
    ]


def check_opener(what: Any, opens: str) -> None:
    """Raises PluginBroken if it is not a function."""
    if not callable(what):
        raise PluginBroken(f"it gives a {type(what).__name__}, not a function that opens {opens}")


def kinds() -> list[ChannelType]:
    """The installed types of channels, nanobot's first."""
    plugins, types = Plugins(), list[ChannelType]()
    for name in plugins.names(CHANNELS):
        try:
            types.append(ChannelType(name, setup_of(name, plugins)))
        except PluginBroken as error:
            types.append(ChannelType(name, Setup(title=name, steps=""), str(error)))
    return types


class NewChannel:
    """A channel to connect: its table (`keys`, as written), the secrets for separate files, by
    their names in the home, and the chat where its owner was met."""

    def __init__(self, name: str, kind: str, setup: Setup, config: Config) -> None:
        """Raises UsageError for an invalid table name."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name[:60]!r} is not a name of a channel: letters, digits, - and _")
        self.name = name
        self.kind = kind
        self.setup = setup
        self.existing = config.channels.get(name, ChannelSettings(type=kind))
        self.keys: dict[str, Any] = {}
        self.secrets: dict[str, str] = {}
        self.owner_chat: Address | None = None
        if name != kind and name not in config.channels:
            self.keys["type"] = kind
        if not self.existing.enabled:
            self.keys["enabled"] = True

    def field(self, key: str) -> SetupField | None:
        """The adapter's description of a key."""
        return next((field for field in self.setup.fields if field.key == key), None)

    def put(self, key: str, text: str) -> None:
        """Set a key to the text that a person typed. A secret goes into a file, unless the text
        refers to one (${VARIABLE} or file:PATH). Raises UsageError for an invalid value."""
        if _UNFIT.search(text):
            raise UsageError(f"{key}: the text has characters in it that cannot be kept")
        field = self.field(key)
        self.secrets.pop(self._file(key), None)
        if _REFERENCE.fullmatch(text):
            self.keys[key] = text
        elif field.secret if field else is_secret(key):
            self.keys[key] = f"file:{self._file(key)}"
            self.secrets[self._file(key)] = text
        elif field is None:
            self.keys[key] = typed_value(f"channels.{self.name}.{key}", text)
        elif field.many:
            self.keys[key] = [item.strip() for item in text.split(",") if item.strip()]
        else:
            self.keys[key] = text

    def _file(self, key: str) -> str:
        return f"secrets/{self.name}.{key}"

    def has(self, key: str) -> bool:
        """Whether the key is set, here or in the existing configuration."""
        return key in self.keys or key in self.existing.settings

    def usual(self, field: SetupField) -> str:
        """The value for a bare Enter: given or configured before, else the default."""
        before = self.keys.get(field.key, self.existing.settings.get(field.key))
        if before is not None:
            if field.secret:
                return ""
            return ", ".join(before) if isinstance(before, list) else str(before)
        return _DOMAIN.sub(lambda match: self._domain(match[1]), field.usual)

    def _domain(self, key: str) -> str:
        """The part after the @ of an address, or after the colon of a Matrix id."""
        text = str(self.keys.get(key, self.existing.settings.get(key, "")))
        return re.split("[@:]", text.lstrip("@"), maxsplit=1)[-1]

    def settings(self, config: Config, environ: Mapping[str, str]) -> ChannelSettings:
        """The resulting table. Raises ConfigError for a reference to nothing."""
        shared = set(ChannelSettings.__struct_fields__)
        own = {
            key: self._resolved(key, value, config, environ)
            for key, value in self.keys.items()
            if key not in shared
        }
        table = {key: value for key, value in self.keys.items() if key in shared}
        settings = {**self.existing.settings, **own}
        return msgspec.structs.replace(
            self.existing, **{**table, "enabled": True, "settings": settings}
        )

    def _resolved(self, key: str, value: Any, config: Config, environ: Mapping[str, str]) -> Any:
        if not isinstance(value, str):
            return value
        secret = self.secrets.get(self._file(key))
        if secret is not None:
            return secret
        return follow(value, f"channels.{self.name}.{key}", config.home, environ)

    def chat_to_greet(self) -> Address | None:
        """The chat to tell the new owner that it is set up; None if unknown."""
        owners = self.keys.get("owners", ())
        if self.owner_chat is None and self.setup.id_is_chat and owners:
            return Address(self.name, owners[-1])
        return self.owner_chat

    def own(self, owners: Sequence[str]) -> None:
        """Set its owners; none: the only person, on a channel with one. Raises UsageError for an
        invalid id."""
        for owner in owners:
            if not re.fullmatch(self.setup.pattern, owner):
                title, person = self.setup.title, self.setup.person
                raise UsageError(f"--owner {owner[:60]!r} is not an id in {title}: {person}")
        if self.setup.only and not self.existing.owners:
            owners = [self.setup.only]
        if owners:
            self.keys["owners"] = list(owners)

    def complete(self, environ: Mapping[str, str]) -> None:
        """Fill unset keys from well-known variables and defaults. Raises UsageError naming the
        missing ones."""
        for field in self.setup.fields:
            if field.optional or self.has(field.key):
                continue
            variable = variable_of(field, environ)
            value = f"${{{variable}}}" if variable else self.usual(field)
            if not value:
                raise UsageError(f"{self.setup.title} needs --set {field.key}=VALUE ({field.asks})")
            self.put(field.key, value)


def channel_of(channel: str, name: str, pairs: tuple[str, ...], config: Config) -> NewChannel:
    """The channel of a command line: `channel` is a type or an existing table, `name` the table
    ("": named like the type), `pairs` are KEY=VALUE. Raises UsageError."""
    table = name or channel
    existing = config.channels.get(table)
    kind = existing.type if existing is not None and not name else channel
    installed = {each.name: each for each in kinds()}
    if kind not in installed:
        there = ", ".join(installed) or "none"
        raise UsageError(f"there is no channel type {kind[:60]!r}; installed are {there}")
    if installed[kind].broken:
        raise UsageError(installed[kind].broken)
    new = NewChannel(table, kind, installed[kind].setup, config)
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (equals and re.fullmatch(r"[A-Za-z0-9_-]+", key.strip()) and value.strip()):
            raise UsageError(f"--set {key.strip()[:60]!r} is not KEY=VALUE")
        new.put(key.strip(), value.strip())
    return new


def variable_of(field: SetupField, environ: Mapping[str, str]) -> str:
    """The environment variable that already holds a field; "": none."""
    return next((variable for variable in field.variables if environ.get(variable, "").strip()), "")
