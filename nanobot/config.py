"""The configuration: read once from `config.toml` and the environment, checked, then frozen.

This module is the only reader of either. Whatever is wrong stops the start with a ConfigError
that names the place, the key, what was found, what is allowed and what to do; a key nobody knows
is only a warning. Secrets appear in no repr and in no error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from math import nan
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nanobot.config_source import (
    Text,
    allowed,
    follow,
    from_text,
    home_of,
    ids,
    parse,
    parse_bytes,
    quoted,
    shown,
    spelled,
)
from nanobot.errors import ConfigError
from nanobot.settings import (
    AgentSettings,
    BudgetSettings,
    ChannelSettings,
    ChatSettings,
    Config,
    DecisionSettings,
    ExecSettings,
    LifecycleSettings,
    McpSettings,
    MemorySettings,
    PolicySettings,
    ProviderSettings,
    Settings,
    ToolsSettings,
    Top,
    WebSettings,
    WebToolSettings,
    every_key,
    rules_of,
    server_trouble,
    web_trouble,
)

__all__ = [
    "AgentSettings",
    "ChannelSettings",
    "Config",
    "ExecSettings",
    "PolicySettings",
    "ProviderSettings",
    "ToolsSettings",
    "Top",
    "WebSettings",
    "home_of",
    "load",
    "survey",
]

T = TypeVar("T", bound=Settings)
V = TypeVar("V")
_PREFIX = "NANOBOT_"
_TOP = ("database_url", "workspace", "drain_seconds")
_NOT_KEYS = frozenset({"NANOBOT_HOME", "NANOBOT_CRASH_AT"})
_TABLES = (
    *("agent", "providers", "channels", "web", "tools", "memory"),
    *("policy", "lifecycle", "budgets", "mcp"),
)
# How many parts a variable's name has below each table (1 for the keys above all tables).
_DEPTH = dict.fromkeys(("providers", "channels", "tools", "mcp"), 3) | dict.fromkeys(_TOP, 1)
_CHANNEL_KEYS = tuple(key for key in ChannelSettings.__struct_fields__ if key != "settings")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# The terminal's own channel; its user is the owner, and no platform may pose as that.
_RESERVED = frozenset({"cli"})
_LATER = frozenset(("heartbeat", "hooks", "events"))


def load(environ: Mapping[str, str]) -> Config:
    """The configuration of the home that `environ` names. A missing file means defaults.

    Raises ConfigError; reads nothing but `config.toml` and the files that its secrets refer to.
    """
    home = home_of(environ)
    file = home / "config.toml"
    return _config(_Reader(home, file, environ), parse(file))


def survey(
    environ: Mapping[str, str], text: bytes | None = None
) -> tuple[list[str], Config | None]:
    """Everything that is wrong with the configuration, each a sentence with its place and key, and
    what could be read all the same (None: nothing). `text`: instead of what `config.toml` holds."""
    found: list[str] = []
    try:
        home = home_of(environ)
        file = home / "config.toml"
        tree = parse(file) if text is None else parse_bytes(file, text)
        return found, _config(_Reader(home, file, environ, found), tree)
    except ConfigError as error:
        return [*found, str(error)], None


def _config(reader: _Reader, tree: dict[str, Any]) -> Config:
    reader.overlay(tree)
    try:
        return reader.config(tree)
    except RecursionError:
        raise ConfigError(f"{reader.file}: nested too deeply. No key needs that.") from None


class _Reader:
    """One load: turns the tree of a file, overlaid with the environment, into settings.

    What is wrong is raised, or noted in `problems` and left out."""

    def __init__(
        self,
        home: Path,
        file: Path,
        environ: Mapping[str, str],
        problems: list[str] | None = None,
    ) -> None:
        self._home = home
        self.file = self._file = file
        self._environ = environ
        self._problems = problems
        self._warnings: list[str] = []

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except ConfigError as error:
            if self._problems is None:
                raise
            self._problems.append(str(error))

    def _or(self, otherwise: V, made: Callable[[], V]) -> V:
        """What was made; `otherwise` if it could not be, and that is noted."""
        with self._noting():
            return made()
        return otherwise

    def config(self, tree: dict[str, Any]) -> Config:
        tables = {name: tree.pop(name, {}) for name in _TABLES}
        top = self._or(Top(), lambda: self._table(Top, tree, ""))
        web = self._plain(WebSettings, tables, "web")
        if web.enabled:
            self._warnings.append(f"{self._file}: web.enabled: the web page is not served yet.")
        return Config(
            home=self._home,
            file=self._file,
            database_url=self._or(
                "", lambda: self._database_url(tree.get("database_url"), top.database_url)
            ),
            workspace=self._or(
                self._home / "workspace",
                lambda: self._workspace(tree.get("workspace"), top.workspace),
            ),
            drain_seconds=top.drain_seconds,
            agent=self._plain(AgentSettings, tables, "agent"),
            providers=self._each(tables["providers"], "providers", self._provider),
            channels=self._each(tables["channels"], "channels", self._channel),
            web=web,
            tools=self._or(ToolsSettings(), lambda: self._tools(tables["tools"])),
            policy=self._or(PolicySettings(), lambda: self._policy(tables["policy"])),
            lifecycle=self._plain(LifecycleSettings, tables, "lifecycle"),
            memory=self._plain(MemorySettings, tables, "memory"),
            budgets=self._plain(BudgetSettings, tables, "budgets"),
            mcp=self._each(tables["mcp"], "mcp", self._server),
            warnings=tuple(self._warnings),
        )

    def _plain(self, kind: type[T], tables: Mapping[str, Any], name: str) -> T:
        return self._or(kind(), lambda: self._table(kind, tables[name], name))

    def overlay(self, tree: dict[str, Any]) -> None:
        """Put what the environment says over what the file says. An empty variable is not set."""
        for variable in sorted(self._environ):
            text = self._environ[variable]
            if variable.startswith(_PREFIX) and variable not in _NOT_KEYS and text:
                parts = variable.removeprefix(_PREFIX).lower().split("__")
                deep = parts[:2] == ["agent", "decision"]
                if len(parts) == (3 if deep else _DEPTH.get(parts[0], 2 if len(parts) > 1 else 0)):
                    with self._noting():
                        self._put(tree, parts, Text(text, variable))
                elif len(parts) > 1 or get_close_matches(parts[0], Top.__struct_fields__):
                    self._unknown(".".join(parts), every_key(), Text("", variable))

    def _put(self, tree: dict[str, Any], parts: list[str], text: Text) -> None:
        node = tree
        for depth, part in enumerate(parts[:-1]):
            child = node.setdefault(spelled(node, part), {})
            if not isinstance(child, dict):
                raise self._wrong(".".join(parts[: depth + 1]), child, "a table")
            node = child
        node[spelled(node, parts[-1])] = text

    def _table(self, kind: type[T], found: Any, path: str) -> T:
        """A table whose every key is a field of `kind`."""
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        prefix = f"{path}." if path else ""
        values = {}
        for key, value in self._items(found, path):
            if key in fields:
                with self._noting():
                    values[key] = self._value(fields[key], value, prefix + key)
            else:
                known = [prefix + name for name in fields]
                self._unknown(prefix + key, known if path else [*known, *_TABLES], value)
        return kind(**values)

    def _items(self, found: Any, path: str) -> list[tuple[str, Any]]:
        if not isinstance(found, dict):
            raise self._wrong(path, found, f"a table: write [{path}] and its keys below it")
        return list(found.items())

    def _each(self, found: Any, path: str, made: Callable[[Any, str], V]) -> dict[str, V]:
        """The tables below [path], by name."""
        tables: dict[str, V] = {}
        with self._noting():
            for name, table in self._items(found, path):
                with self._noting():
                    tables[name] = made(table, self._named(name, path))
        return tables

    def _named(self, name: str, path: str) -> str:
        if not _NAME.fullmatch(name) or (path == "channels" and name in _RESERVED):
            raise ConfigError(
                f"{self._file}: [{path}.{quoted(name)}] cannot be a name here. Use letters, "
                "digits, - and _, at most 64; no channel may be called 'cli'."
            )
        return name

    def _provider(self, found: Any, name: str) -> ProviderSettings:
        path = f"providers.{name}"
        provider = self._table(ProviderSettings, found, path)
        if provider.api_base and not provider.api_base.startswith(("http://", "https://")):
            raise self._wrong(f"{path}.api_base", found["api_base"], "an http:// or https:// URL")
        return provider

    def _server(self, found: Any, name: str) -> McpSettings:
        path = f"mcp.{name}"
        tables = dict(self._items(found, path))
        switch = {key: value for key, value in tables.items() if key == "enabled"}
        if not self._table(McpSettings, switch, path).enabled:
            # One that is off must not stop the start for a secret that is not there.
            return McpSettings(enabled=False)
        server = self._table(McpSettings, tables, path)
        key, wanted = server_trouble(server)
        if wanted:
            raise self._wrong(f"{path}.{key}" if key else path, getattr(server, key, found), wanted)
        return server

    def _channel(self, found: Any, name: str) -> ChannelSettings:
        path = f"channels.{name}"
        items = self._items(found, path)
        own = {key: value for key, value in items if key in _CHANNEL_KEYS}
        rest = {key: value for key, value in items if key not in _CHANNEL_KEYS}
        for key, value in rest.items():
            near = get_close_matches(key, _CHANNEL_KEYS, n=1, cutoff=0.8)
            if near:
                self._unknown(f"{path}.{key}", [f"{path}.{near[0]}"], value)
        chats = self._chats(own.pop("chats", {}), f"{path}.chats")
        channel = self._table(ChannelSettings, {"type": name, **own}, path)
        channel = msgspec.structs.replace(channel, chats=chats)
        if "*" in channel.owners:
            raise self._wrong(f"{path}.owners", channel.owners, "a list of ids, not everybody")
        if not channel.enabled:
            # A channel that is off must not stop the start for a token that is not there.
            return channel
        settings = {}
        for key, value in rest.items():
            with self._noting():
                settings[key] = self._adapter(value, f"{path}.{key}")
        return msgspec.structs.replace(channel, settings=settings)

    def _chats(self, found: Any, path: str) -> dict[str, ChatSettings]:
        chats = {}
        with self._noting():
            for chat, table in self._items(found, path):
                with self._noting():
                    chats[chat] = self._table(ChatSettings, table, f"{path}.{quoted(chat)}")
        return chats

    def _adapter(self, found: Any, key: str) -> Any:
        if isinstance(found, dict):
            return {name: self._adapter(value, f"{key}.{name}") for name, value in found.items()}
        if isinstance(found, list):
            return [self._adapter(value, key) for value in found]
        return self._resolved(found, key)[0]

    def _tools(self, found: Any) -> ToolsSettings:
        tables = dict(self._items(found, "tools"))
        shell = self._table(ExecSettings, tables.pop("exec", {}), "tools.exec")
        found = tables.pop("web", {})
        web = self._table(WebToolSettings, found, "tools.web")
        key, wanted = web_trouble(web)
        if wanted:
            raise self._wrong(f"tools.web.{key}", found[key], wanted)
        for name, value in tables.items():
            self._unknown(f"tools.{name}", ["tools.exec", "tools.web"], value)
        return ToolsSettings(exec=shell, web=web)

    def _policy(self, found: Any) -> PolicySettings:
        rest = dict(self._items(found, "policy"))
        rules = rules_of(rest.pop("rules", []), self._place(found))
        return msgspec.structs.replace(self._table(PolicySettings, rest, "policy"), rules=rules)

    def _value(self, field: msgspec.structs.FieldInfo, found: Any, key: str) -> Any:
        if field.type is DecisionSettings:
            return self._table(DecisionSettings, found, key)
        value, loose = self._resolved(found, key)
        if loose:
            value = from_text(field.type, value)
        if isinstance(value, list):
            value = [self._resolved(item, key)[0] for item in value]
        elif isinstance(value, dict):
            value = {name: self._resolved(v, f"{key}.{name}")[0] for name, v in value.items()}
        if key.endswith((".owners", ".members", ".guests")):
            value = ids(value)
        try:
            converted = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            converted = nan
        if converted != converted:  # not a number: no bound refuses it
            raise self._wrong(key, found, allowed(field.type), default=field.default)
        return converted

    def _resolved(self, found: Any, key: str) -> tuple[Any, bool]:
        """The value itself, and whether it is text without a type of its own."""
        text = found.text if isinstance(found, Text) else found
        if not isinstance(text, str):
            return text, False
        value = follow(text, f"{self._place(found)}: {key}", self._home, self._environ)
        if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
            raise self._wrong(key, found, "text in UTF-8 without zero bytes")
        return value, isinstance(found, Text) or value is not text

    def _database_url(self, found: Any, url: str) -> str:
        if not url:
            return f"sqlite:///{self._home / 'state.db'}"
        if url.startswith("sqlite:///") and url != "sqlite:///:memory:":
            # SQLAlchemy would take a relative path from wherever the process was started.
            return f"sqlite:///{self._home / Path(url.removeprefix('sqlite:///')).expanduser()}"
        if url.startswith(("postgresql://", "postgresql+psycopg://", "sqlite:///")):
            return url
        raise self._wrong(
            "database_url", found, '"sqlite:///PATH" or "postgresql://USER:PASSWORD@HOST/DATABASE"'
        )

    def _workspace(self, found: Any, path: str) -> Path:
        try:
            return self._home / Path(path or "workspace").expanduser()
        except RuntimeError:
            raise self._wrong("workspace", found, "the path of a folder") from None

    def _unknown(self, key: str, known: list[str], found: Any) -> None:
        head, _, last = key.rpartition(".")
        if key in _LATER or key.partition(".")[0] in _LATER or head in _LATER:
            text = "is not in this version yet; it is ignored."
        else:
            same = [other for other in every_key() if other.rpartition(".")[2] == last]
            near = get_close_matches(key, known, n=1) or (same if len(same) == 1 else [])
            hint = f"; did you mean {near[0]}?" if near else "."
            text = f"is not a known key and is ignored{hint}"
        self._warnings.append(f"{self._place(found)}: {quoted(key)} {text}")

    def _wrong(self, key: str, found: Any, wanted: str, *, default: Any = None) -> ConfigError:
        value = found.text if isinstance(found, Text) else found
        remedy = "Correct it"
        if isinstance(default, str | int | float) and default != "":
            remedy += f", or leave it out for the default {shown(key, default)}"
        return ConfigError(
            f"{self._place(found)}: {quoted(key)} is {shown(key, value)}, "
            f"but must be {wanted}. {remedy}."
        )

    def _place(self, found: Any) -> str:
        if isinstance(found, Text):
            return f"environment variable {found.variable}"
        if isinstance(found, dict) and found:
            # A table that only variables made is theirs; else it is the file's.
            return next(iter(sorted(map(self._place, found.values()), key=str(self._file).__ne__)))
        return str(self._file)
