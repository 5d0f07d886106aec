"""The configuration: read once from `config.toml` and the environment, checked, then frozen.

Only this module reads them. Any mistake stops the start with a ConfigError that names the place,
the key, the value found, the valid values and the remedy; an unknown key is only a warning. Secrets
appear in no repr and in no error.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nanobot.config.plugin_tables import brings, config_file, plugin_tables
from nanobot.config.reader import Reader
from nanobot.config.settings import Config, ConfigFile, PluginsSettings, Tables
from nanobot.config.settings.agent import AgentSettings, ProviderSettings
from nanobot.config.settings.channels import ChannelSettings
from nanobot.config.settings.tools import PolicySettings, ToolsSettings
from nanobot.config.values import home_of, parse, parse_bytes
from nanobot.errors import ConfigError
from nanobot.text import pattern

__all__ = [
    "AgentSettings",
    "ChannelSettings",
    "Config",
    "PolicySettings",
    "ProviderSettings",
    "ToolsSettings",
    "home_of",
    "load",
    "survey",
]


_SCHEMA = pattern(r"[a-z][a-z0-9_]{0,62}")


def load(environ: Mapping[str, str], unset: dict[str, str] | None = None) -> Config:
    """The configuration of the home in `environ`. A missing file means defaults.

    A command often lacks the secrets of the gateway: with `unset`, a reference to a missing
    variable or file stays as written, and the key and the error's text are added there.

    Raises ConfigError; reads only `config.toml` and the files that its secrets refer to.
    """
    home = home_of(environ)
    file = home / "config.toml"
    return _config(home, file, Reader(home, file, environ, unset=unset), parse(file))


def survey(
    environ: Mapping[str, str], text: bytes | None = None
) -> tuple[list[str], Config | None]:
    """Every mistake in the configuration, each a sentence with its place and key, and the readable
    part (None: nothing). `text` replaces the contents of `config.toml`."""
    problems: list[str] = []
    try:
        home = home_of(environ)
        file = home / "config.toml"
        tree = parse(file) if text is None else parse_bytes(file, text)
        return problems, _config(home, file, Reader(home, file, environ, problems), tree)
    except ConfigError as error:
        return [*problems, str(error)], None


def _config(home: Path, file: Path, reader: Reader, tree: dict[str, Any]) -> Config:
    reader.overlay(tree)
    with suppress(ConfigError):  # reported below
        lenient = Reader(home, file, reader.environ, [])
        reader.off = lenient.table(PluginsSettings, tree.get("plugins", {}), "plugins").off
    try:
        written = reader.table(config_file(), tree, "")
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply. No key needs that.") from None
    database_url, workspace = f"sqlite:///{home / 'state.db'}", home / "workspace"
    with reader.noting():
        database_url = _database_url(home, reader, tree, written)
    blobs: Path | str = home / "blobs"
    with reader.noting():
        workspace = _workspace(home, reader, tree.get("workspace"), written)
    with reader.noting():
        blobs = _blobs(home, reader, tree.get("blobs"), written)
    return Config(
        home=home,
        file=file,
        database_url=database_url,
        workspace=workspace,
        blobs=blobs,
        **{name: getattr(written, name) for name in Tables.__struct_fields__},
        warnings=tuple(reader.warnings),
        tables={name: getattr(written, name) for name in plugin_tables()},
    )


def _database_url(home: Path, reader: Reader, tree: Mapping[str, Any], written: ConfigFile) -> str:
    url = written.database_url
    if not url:
        return f"sqlite:///{home / 'state.db'}"
    if url.startswith("sqlite:///") and url != "sqlite:///:memory:":
        if "?" in url:
            allowed = '"sqlite:///PATH" without options behind a "?"'
            raise reader.wrong("database_url", tree.get("database_url"), allowed)
        # SQLAlchemy would resolve a relative path from the process's current folder.
        return f"sqlite:///{home / Path(url.removeprefix('sqlite:///')).expanduser()}"
    if url.startswith("sqlite:///"):
        return url
    if url.startswith(("postgresql://", "postgresql+psycopg://")):
        return _with_schema(url, reader, tree.get("database_schema"), written.database_schema)
    if brings("databases", url.partition(":")[0]):
        return url
    allowed = '"sqlite:///PATH" or "postgresql://USER:PASSWORD@HOST/DATABASE"'
    raise reader.wrong("database_url", tree.get("database_url"), allowed)


def _with_schema(url: str, reader: Reader, raw: Any, name: str) -> str:
    """Connections of the URL see only that schema."""
    if not name:
        return url
    if not _SCHEMA.fullmatch(name):
        allowed = "letters a-z, digits and _, with a letter first, 63 at most"
        raise reader.wrong("database_schema", raw, allowed)
    if "options=" in url:
        allowed = "left out where database_url has options: name the schema there"
        raise reader.wrong("database_schema", raw, allowed)
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


def _workspace(home: Path, reader: Reader, raw: Any, written: ConfigFile) -> Path:
    try:
        return home / Path(written.workspace or "workspace").expanduser()
    except RuntimeError:
        raise reader.wrong("workspace", raw, "the path of a folder") from None


def _blobs(home: Path, reader: Reader, raw: Any, written: ConfigFile) -> Path | str:
    scheme, url, place = written.blobs.partition("://")
    if url:
        if place.partition("/")[0] and brings("blobs", scheme):
            return written.blobs.rstrip("/")
    else:
        with suppress(RuntimeError):
            return home / Path(written.blobs or "blobs").expanduser()
    raise reader.wrong("blobs", raw, 'the path of a folder, or "s3://BUCKET/PREFIX"')
