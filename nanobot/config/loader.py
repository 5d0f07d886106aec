"""The configuration: read once from `config.toml` and the environment, checked, then frozen.

This module is the only reader of either. Whatever is wrong stops the start with a ConfigError
that names the place, the key, what was found, what is allowed and what to do; a key nobody knows
is only a warning. Secrets appear in no repr and in no error.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from nanobot.config.reader import Reader
from nanobot.config.settings import Config, Top
from nanobot.config.settings.agent import CLIENTS, AgentSettings, MemorySettings, ProviderSettings
from nanobot.config.settings.base import Settings
from nanobot.config.settings.budgets import BudgetSettings
from nanobot.config.settings.channels import ChannelSettings, ChatSettings, WebSettings
from nanobot.config.settings.events import (
    NAMED_WATCHES,
    WATCHES,
    EventsSettings,
    WatchSettings,
    lowered,
    watch_trouble,
)
from nanobot.config.settings.tools import (
    ExecSettings,
    McpSettings,
    PolicySettings,
    ToolsSettings,
    WebToolSettings,
    rules_of,
    server_trouble,
    web_trouble,
)
from nanobot.config.settings.triggers import (
    HeartbeatSettings,
    HookSettings,
    LifecycleSettings,
    QuietSettings,
    TriggerSettings,
    hook_trouble,
)
from nanobot.config.values import EnvironmentText, home_of, parse, parse_bytes, quoted
from nanobot.errors import ConfigError

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

_TOP = ("database_url", "workspace", "drain_seconds")
# The tables that are read as they stand, each key a field.
_PLAIN: Mapping[str, type[Settings]] = {
    "agent": AgentSettings,
    "web": WebSettings,
    "lifecycle": LifecycleSettings,
    "memory": MemorySettings,
    "budgets": BudgetSettings,
    "heartbeat": HeartbeatSettings,
    "quiet": QuietSettings,
}
_NAMED = ("providers", "channels", "tools", "mcp", "hooks", "triggers")
_TABLES = (*_PLAIN, *_NAMED, "policy", "events")
# How many parts a variable's name has below each table (1 for the keys above all tables).
_DEPTH = dict.fromkeys(_NAMED, 3) | dict.fromkeys(_TOP, 1)
_CHANNEL_KEYS = tuple(key for key in ChannelSettings.__struct_fields__ if key != "settings")
_PROVIDER_KEYS = ("api_key", "api_base", "client", "prices", "models")


def load(environ: Mapping[str, str]) -> Config:
    """The configuration of the home that `environ` names. A missing file means defaults.

    Raises ConfigError; reads nothing but `config.toml` and the files that its secrets refer to.
    """
    home = home_of(environ)
    file = home / "config.toml"
    return _config(_ConfigReader(home, file, environ), parse(file))


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
        return found, _config(_ConfigReader(home, file, environ, found), tree)
    except ConfigError as error:
        return [*found, str(error)], None


def _config(reader: _ConfigReader, tree: dict[str, Any]) -> Config:
    reader.overlay(tree)
    try:
        return reader.config(tree)
    except RecursionError:
        raise ConfigError(f"{reader.file}: nested too deeply. No key needs that.") from None


class _ConfigReader(Reader):
    """One load of the whole configuration."""

    tables = _TABLES
    depth = _DEPTH

    def config(self, tree: dict[str, Any]) -> Config:
        tables = {name: tree.pop(name, {}) for name in _TABLES}
        top = self._or(Top(), lambda: self._table(Top, tree, ""))
        plain: dict[str, Any] = {
            name: self._plain(kind, tables, name) for name, kind in _PLAIN.items()
        }
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
            providers=self._each(tables["providers"], "providers", self._provider),
            channels=self._each(tables["channels"], "channels", self._channel),
            tools=self._or(ToolsSettings(), lambda: self._tools(tables["tools"])),
            policy=self._or(PolicySettings(), lambda: self._policy(tables["policy"])),
            mcp=self._each(tables["mcp"], "mcp", self._server),
            events=self._or(EventsSettings(), lambda: self._events(tables["events"])),
            hooks=self._each(tables["hooks"], "hooks", self._hook),
            triggers=self._each(tables["triggers"], "triggers", self._trigger),
            **plain,
            warnings=tuple(self._warnings),
        )

    def _provider(self, found: Any, name: str) -> ProviderSettings:
        path = f"providers.{name}"
        items = self._items(found, path)
        client = dict(items).get("client", "auto")
        named = client.text if isinstance(client, EnvironmentText) else client
        if not isinstance(named, str) or named in CLIENTS:
            provider = self._table(ProviderSettings, found, path)
        else:
            provider = self._plugged(named, items, path)
        if provider.api_base and not provider.api_base.startswith(("http://", "https://")):
            raise self._wrong(f"{path}.api_base", found["api_base"], "an http:// or https:// URL")
        return provider

    def _plugged(self, client: str, items: list[tuple[str, Any]], path: str) -> ProviderSettings:
        """One that a package's client reaches, which has keys of its own."""
        from nanobot.plugins import PROVIDERS, Plugins  # noqa: PLC0415 - more than most need

        known = Plugins().names(PROVIDERS)
        if client not in known:
            wanted = ", ".join(f'"{one}"' for one in ("auto", "lean", "litellm", *known))
            raise self._wrong(f"{path}.client", dict(items)["client"], f"one of {wanted}")
        own = {key: value for key, value in items if key in _PROVIDER_KEYS}
        provider = self._table(ProviderSettings, own, path)
        settings = {}
        for key, value in items:
            with self._noting():
                if key not in own:
                    settings[key] = self._adapter(value, f"{path}.{key}")
        return msgspec.structs.replace(provider, settings=settings)

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

    def _hook(self, found: Any, name: str) -> HookSettings:
        path = f"hooks.{name}"
        switch = {key: value for key, value in self._items(found, path) if key == "enabled"}
        if not self._table(HookSettings, switch, path).enabled:
            # One that is off must not stop the start for a secret that is not there.
            return HookSettings(enabled=False)
        hook = self._table(HookSettings, found, path)
        key, wanted = hook_trouble(hook)
        if wanted:
            raise self._wrong(f"{path}.{key}", getattr(hook, key), wanted)
        return hook

    def _events(self, found: Any) -> EventsSettings:
        tables = dict(self._items(found, "events"))
        watches: dict[str, Any] = {}
        for name, kind in WATCHES.items():
            read = partial(self._watch, kind, tables.pop(name, {}))
            watches[name] = self._or(kind(), partial(read, f"events.{name}"))
        for name, kind in NAMED_WATCHES.items():
            each = partial(self._watch_of, kind, f"events.{name}")
            watches[name] = self._each(tables.pop(name, {}), f"events.{name}", each)
        events = self._table(EventsSettings, tables, "events")
        return msgspec.structs.replace(events, **watches)

    def _watch_of(
        self, kind: type[WatchSettings], above: str, found: Any, name: str
    ) -> WatchSettings:
        return self._watch(kind, found, f"{above}.{name}")

    def _watch(self, kind: type[WatchSettings], found: Any, path: str) -> WatchSettings:
        watch = lowered(self._table(kind, found, path), found)
        key, wanted = watch_trouble(watch)
        if wanted:
            raise self._wrong(f"{path}.{key}", getattr(watch, key), wanted)
        return watch

    def _trigger(self, found: Any, name: str) -> TriggerSettings:
        path = f"triggers.{name}"
        items = self._items(found, path)
        own = {key: value for key, value in items if key in TriggerSettings.__struct_fields__}
        trigger = self._table(TriggerSettings, {"type": name, **own}, path)
        if not trigger.enabled:
            # One that is off must not stop the start for a secret that is not there.
            return trigger
        rest = {key: value for key, value in items if key not in own}
        settings = {key: self._adapter(value, f"{path}.{key}") for key, value in rest.items()}
        if trigger.to and not all(trigger.to.partition(":")):
            wanted = "a chat as CHANNEL:ID, such as telegram:1001"
            raise self._wrong(f"{path}.to", dict(items)["to"], wanted)
        return msgspec.structs.replace(trigger, settings=settings)

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
