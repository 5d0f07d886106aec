"""What can be configured, as frozen tables with their defaults: all that config.toml may hold, and
what the whole of nanobot is given. `nanobot.config.loader` reads them; the schema for editors is
made of them, too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta

from nanobot.config.settings.agent import AgentSettings, ProviderSettings
from nanobot.config.settings.base import Settings, about
from nanobot.config.settings.channels import ChannelSettings
from nanobot.config.settings.tools import PolicySettings, ToolsSettings
from nanobot.messages import TERMINAL

S = TypeVar("S", bound=Settings)


class PluginsSettings(Settings, frozen=True, kw_only=True):
    """`[plugins]`: every installed plugin is on, unless `off` names it."""

    off: Annotated[tuple[str, ...], about("Plugins that are switched off, by name.")] = ()


class Tables(Settings, frozen=True, kw_only=True):
    """The tables, and the keys above them that are taken as they stand."""

    drain_seconds: Annotated[
        float,
        Meta(ge=0, le=3600),
        about(
            "How long running answers may continue when the gateway is told to stop.",
            unit="s",
            live=True,
        ),
    ] = 30.0
    log_format: Annotated[
        Literal["text", "json"], about("How the log is written on standard error.")
    ] = "text"
    agent: Annotated[AgentSettings, about("Who answers, and the limits of a run.")] = (
        AgentSettings()
    )
    providers: Annotated[
        Mapping[str, ProviderSettings], about("Ways to reach models.", live=True)
    ] = {}
    channels: Annotated[Mapping[str, ChannelSettings], about("Chat platforms.")] = {}
    tools: Annotated[ToolsSettings, about("What the model can do.")] = ToolsSettings()
    policy: Annotated[PolicySettings, about("Which calls need an approval.", live=True)] = (
        PolicySettings()
    )
    plugins: Annotated[PluginsSettings, about("Which capabilities are on.")] = PluginsSettings()


class ConfigFile(Tables, frozen=True, kw_only=True):
    """nanobot's config.toml."""

    database_url: Annotated[
        str, about("Database, as sqlite:///PATH or postgresql://... Empty: state.db in the home.")
    ] = ""
    database_schema: Annotated[
        str,
        about(
            "Schema of this assistant in PostgreSQL, so that several can share a "
            "database. Empty: that of the URL."
        ),
    ] = ""
    workspace: Annotated[str, about("The assistant's folder. Empty: workspace/ in the home.")] = ""
    blobs: Annotated[
        str,
        about(
            "Where files of messages are kept: a folder, or s3://BUCKET/PREFIX. Empty: "
            "blobs/ in the home."
        ),
    ] = ""


class Config(Tables, frozen=True, kw_only=True):
    """The whole configuration. Its paths are absolute, and none was created."""

    home: Path
    file: Path
    """Where the configuration is or would be."""
    database_url: str
    workspace: Path
    blobs: Path | str
    """A str is the URL of an object store."""
    warnings: tuple[str, ...] = ()
    """Sentences for people."""
    tables: Mapping[str, Any] = {}
    """Tables of plugins, by name: each is settings, or settings by the names that people gave."""

    def of(self, kind: type[S]) -> S:
        """The table of that type, which is a plugin's, or its keys in a table of the core."""
        if kind.part_of:
            return kind.within(getattr(self, kind.part_of))
        return next((table for table in self.tables.values() if isinstance(table, kind)), kind())

    def value(self, name: str) -> Any:
        """A table, or a key that is in none, of the core or of a plugin."""
        return self.tables[name] if name in self.tables else getattr(self, name)

    @property
    def served(self) -> tuple[str, ...]:
        """The names of the channels that are on."""
        return tuple(name for name, channel in self.channels.items() if channel.enabled)

    @property
    def addressed(self) -> tuple[str, ...]:
        """The names of all channels that a message can be sent to: those that are on, those of
        plugins, as the page, and the terminal."""
        tables = [table for table in self.tables.values() if isinstance(table, Settings)]
        own = [name for table in tables for name in table.own_channels]
        return (*self.served, *own, TERMINAL)
