"""`nanobot db`: back up, check and maintain the store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nanobot.cli.exit_codes import errors
from nanobot.cli.generated import example, subcommands
from nanobot.cli.output import document, say
from nanobot.errors import StoreCorrupt

db = subcommands()

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add(app: typer.Typer, groups: dict[str, typer.Typer]) -> None:
    """Add these commands to the command line, and their group to those that plugins may add to."""
    groups["db"] = db
    app.add_typer(
        db, name="db", help="The store: move it, back it up, restore, check and vacuum it."
    )


def _tell_left(plugins: Sequence[str]) -> None:
    for name in plugins:
        say(f"The tables of the plugin {name} were left out: it is not installed here.")


@db.command("backup", epilog=example("nanobot db backup /backup/nanobot.db"))
def backup(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file.")] = "",
) -> None:
    """Copy the store into a SQLite file, also while a gateway runs.

    The store can be PostgreSQL. Files are not in the backup: also copy blobs and the workspace.
    """
    from nanobot.app.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see below
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.store import maintenance  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    with errors():
        config = load(context.obj, unset={})
        name = time.strftime("nanobot-%Y%m%d-%H%M%S.db")
        target = Path(file).expanduser().absolute() if file else Path.cwd() / name
        left = maintenance.back_up(url_of(config), target, plugin_revisions())
        say(f"Backup written to {target}.")
        _tell_left(left)
        say(f"The backup has no files: also copy {config.blobs} and {config.workspace}.")


@db.command("restore", epilog=example("nanobot db restore /backup/nanobot.db"))
def restore(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A backup made by `nanobot db backup`.")
    ],
) -> None:
    """Replace the store with a backup.

    Stop every gateway first. The previous SQLite store stays in the same folder; a PostgreSQL
    database has to be empty.
    """
    from nanobot.app.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see below
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.store import maintenance  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    with errors():
        url = url_of(load(context.obj, unset={}))
        kept = maintenance.restore(url, Path(file).expanduser().absolute(), plugin_revisions())
        say(f"{maintenance.where(url)} now contains {file}.")
        if kept:
            say(f"The previous store is now {kept}.")


@db.command("check", epilog=example("nanobot db check"))
def check(context: typer.Context, json: Json = False) -> None:
    """Check the database and the chain of every log, also while a gateway runs.

    Ends with 4 if something is wrong.
    """
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.store import maintenance  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    with errors():
        checked = maintenance.check_store(url_of(load(context.obj, unset={})))
        if json:
            document(checked)
        else:
            say(
                f"{checked.where}: revision {checked.revision}, "
                f"{checked.sessions:,} conversations, {checked.entries:,} entries"
            )
            for problem in checked.problems:
                say(f"- {problem}")
        if checked.problems:
            raise StoreCorrupt("the store is damaged: `nanobot db restore` brings back a backup")
        if not json:
            say("Everything holds.")


@db.command("vacuum", epilog=example("nanobot db vacuum"))
def vacuum(context: typer.Context) -> None:
    """Reclaim disk space; stop the gateway first if you use SQLite.

    It needs as much free space as the store has.
    """
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.store import maintenance  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    with errors():
        before, after = maintenance.vacuum(url_of(load(context.obj, unset={})))
        say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now.")
