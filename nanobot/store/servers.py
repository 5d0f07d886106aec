"""Databases on servers, which plugins bring: each is found by the scheme of its URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.errors import ConfigError, NanobotError
from nanobot.ports import Clock
from nanobot.seam.installed import installed
from nanobot.seam.plugin import Part, resolved
from nanobot.store.database.database import Database
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.lock import HomeLock
from nanobot.store.unit import StoreContext
from nanobot.text import Sentence

ContextOf: TypeAlias = Callable[[float | None, str], StoreContext]

_OURS: Mapping[str, str] = {"postgresql": "postgres", "postgresql+psycopg": "postgres"}
"""The plugins of nanobot that bring databases, by scheme, for one that could not be loaded."""


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Who opens a store: the home, the command, what makes its context (see `opening.contexts`),
    and where a test wants it to fail."""

    home: Path
    command: str
    context_of: ContextOf
    failpoints: Failpoints


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """An open database. Its context has the seconds of leases. `lock` is held until it closes. By
    `notices`, its plugin tells the processes that share it something."""

    database: Database
    writer: StoreContext
    lock: HomeLock | None
    notices: object


class DatabaseServer(Protocol):
    """A database on a server, which a plugin gives for its URL. Nothing is opened before it is
    used. What commands without a gateway need of it is plugins.common.store.servers.WholeServer.
    """

    async def reached(self, clock: Clock) -> None:
        """Wait at most a minute for a server that is restarting."""

    def open(self, opening: Opening) -> Opened:
        """Open it for a gateway, with the tables of this version. Raises StoreError, and
        ConfigError where something is not installed."""


def server_of(url: str) -> DatabaseServer:
    """The database of a URL that is not of SQLite. Raises ConfigError if no plugin brings it."""
    scheme, plugins = url.partition(":")[0], installed()
    for found, part in plugins.having("databases", scheme):
        given = plugins.tried(found.name, "databases", partial(_given, part, url), NanobotError)
        if given is not None:
            return given
    for broken in plugins.left_out:
        if broken.name == _OURS.get(scheme):
            raise _lacking(broken.name, f"It could not be loaded: {broken.why}")
    raise ConfigError(f"database_url begins with {scheme}: no plugin brings such a database")


def _given(part: Part, url: str) -> DatabaseServer:
    server: DatabaseServer = resolved(part)(url)
    return server


def usable(url: str, config: Config) -> str:
    """That URL of a database. Raises ConfigError if it is of a plugin that is off."""
    if not url.startswith("sqlite"):
        off = switched(config).off
        for found, _ in installed().having("databases", url.partition(":")[0]):
            if found.name in off:
                raise _lacking(found.name, off[found.name])
    return url


def url_of(config: Config) -> str:
    """The URL of the store. Raises ConfigError if it is of a plugin that is off."""
    return usable(config.database_url, config)


def _lacking(plugin: str, why: Sentence) -> ConfigError:
    return ConfigError(f"database_url needs the plugin {plugin}. {why}")
