"""`nanobot db backup`, `restore`, `check` and `vacuum`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from nanobot.errors import ConfigError, StoreCorrupt
from nanobot.plugins.common.commands.output import document, say
from nanobot.plugins.common.faces import Command, Option

if TYPE_CHECKING:
    from nanobot.config.loader import Config

_New = Annotated[str, Option(about="A new file.", words=True, metavar="FILE")]
_Kept = Annotated[
    str, Option(about="A backup made by `nanobot db backup`.", words=True, metavar="FILE")
]
_Json = Annotated[bool, Meta(description="Print JSON.")]


def backup(environ: Mapping[str, str], *, file: _New = "") -> None:
    """Copy the store into a SQLite file, also while a gateway runs.

    The store can be PostgreSQL. Files are not in the backup: also copy blobs and the workspace.
    """
    from nanobot.plugins.common.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see _config
    from nanobot.plugins.maintenance.store import maintenance  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    config = _config(environ)
    name = time.strftime("nanobot-%Y%m%d-%H%M%S.db")
    target = Path(file).expanduser().absolute() if file else Path.cwd() / name
    left = maintenance.back_up(url_of(config), target, plugin_revisions())
    say(f"Backup written to {target}.")
    _tell_left(left)
    say(f"The backup has no files: also copy {config.blobs} and {config.workspace}.")


def _tell_left(plugins: Sequence[str]) -> None:
    for name in plugins:
        say(f"The tables of the plugin {name} were left out: it is not installed here.")


def restore(environ: Mapping[str, str], *, file: _Kept) -> None:
    """Replace the store with a backup.

    Stop every gateway first. The previous SQLite store stays in the same folder; a PostgreSQL
    database has to be empty.
    """
    from nanobot.plugins.common.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see _config
    from nanobot.plugins.common.store.at_rest import where  # noqa: PLC0415
    from nanobot.plugins.maintenance.store import maintenance  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    url = url_of(_config(environ))
    kept = maintenance.restore(url, Path(file).expanduser().absolute(), plugin_revisions())
    say(f"{where(url)} now contains {file}.")
    if kept:
        say(f"The previous store is now {kept}.")


def check(environ: Mapping[str, str], *, json: _Json = False) -> None:
    """Check the database and the chain of every log, also while a gateway runs.

    Ends with 4 if something is wrong.
    """
    from nanobot.plugins.maintenance.store import maintenance  # noqa: PLC0415 - see _config
    from nanobot.store.servers import url_of  # noqa: PLC0415

    checked = maintenance.check_store(url_of(_config(environ)))
    if json:
        document(checked)
    else:
        sessions, entries = checked.sessions, checked.entries
        held = "1 conversation" if sessions == 1 else f"{sessions:,} conversations"
        held += ", 1 entry" if entries == 1 else f", {entries:,} entries"
        say(f"{checked.where}: revision {checked.revision}, {held}")
        for problem in checked.problems:
            say(f"- {problem}")
    if checked.problems:
        raise StoreCorrupt("the store is damaged: `nanobot db restore` brings back a backup")
    if not json:
        say("Everything holds.")


def vacuum(environ: Mapping[str, str]) -> None:
    """Reclaim disk space; stop the gateway first if you use SQLite.

    It needs as much free space as the store has.
    """
    from nanobot.plugins.maintenance.store import maintenance  # noqa: PLC0415 - see _config
    from nanobot.store.servers import url_of  # noqa: PLC0415

    before, after = maintenance.vacuum(url_of(_config(environ)))
    say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now.")


def _config(environ: Mapping[str, str]) -> Config:
    """The configuration of the home. Raises ConfigError, also if the plugin is off."""
    from nanobot.config.loader import load  # noqa: PLC0415 - more than --help needs
    from nanobot.config.plugin_tables import switched  # noqa: PLC0415

    config = load(environ, unset={})
    if why := switched(config).off.get("maintenance"):
        raise ConfigError(f"this command belongs to the plugin maintenance. {why}")
    return config


def commands() -> list[Command]:
    """See seam.plugin.Plugin.commands."""
    name, file = "nanobot db", "/backup/nanobot.db"
    return [
        Command(name="db backup", run=backup, examples=(f"{name} backup {file}",)),
        Command(name="db restore", run=restore, examples=(f"{name} restore {file}",)),
        Command(name="db check", run=check, examples=(f"{name} check",)),
        Command(name="db vacuum", run=vacuum, examples=(f"{name} vacuum",)),
    ]
