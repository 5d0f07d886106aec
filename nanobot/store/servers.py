"""The databases of stores, by the scheme of their URLs: SQLite, and those on servers, which plugins
bring."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.errors import ConfigError, NanobotError
from nanobot.ports import Clock
from nanobot.seam.installed import installed
from nanobot.seam.plugin import Part, resolved
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.opening import ContextOf, Store, open_sqlite
from nanobot.text import Sentence

_OURS: Mapping[str, str] = {"postgresql": "postgres", "postgresql+psycopg": "postgres"}
"""The plugins of nanobot that bring databases, by scheme, for one that could not be loaded."""


class DatabaseServer(Protocol):
    """A database on a server, which a plugin gives for its URL. Nothing is opened before it is
    used. What commands without a gateway need of it is plugins.common.store.servers.WholeServer.
    """

    async def reached(self, clock: Clock) -> None:
        """Wait at most a minute for a server that is restarting."""

    def open(
        self, home: Path, command: str, context_of: ContextOf, failpoints: Failpoints
    ) -> Store:
        """Open it for the gateway of a home, with the tables of this version. `context_of`: see
        `opening.contexts`. Raises StoreError, and ConfigError where something is not installed."""


def open_store(home: Path, url: str, context_of: ContextOf, *, command: str, crash: str) -> Store:
    """Open the store of a home. `url` empty: SQLite in the home. `crash` is NANOBOT_CRASH_AT.
    Raises StoreError, and ConfigError if no plugin brings the database."""
    failpoints = Failpoints(crash)
    if url and not url.startswith("sqlite"):
        return server_of(url).open(home, command, context_of, failpoints)
    return open_sqlite(home, url, context_of, command, failpoints)


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
