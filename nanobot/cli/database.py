"""`nanobot db`: move, back up, check and maintain the store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nanobot.cli.exit_codes import errors
from nanobot.cli.generated import example, subcommands
from nanobot.cli.output import document, say
from nanobot.errors import StoreCorrupt, UsageError

db = subcommands()

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add(app: typer.Typer, groups: dict[str, typer.Typer]) -> None:
    """Add these commands to the command line, and their group to `groups`."""
    groups["db"] = db
    app.add_typer(
        db, name="db", help="The store: move it, back it up, restore, check and vacuum it."
    )


@db.command("migrate", epilog=example("nanobot db migrate --to postgresql://bot@db/nanobot"))
def migrate(
    context: typer.Context,
    to: Annotated[str, typer.Option("--to", help="The URL of an empty database.", metavar="URL")],
    json: Json = False,
) -> None:
    """Copy the store into another, empty database, and compare the two.

    Stop every gateway first. The copy is one transaction; counts, contents and the chain of every
    log are compared before it commits. The old store is not changed, and stays in use until
    database_url names the new one.
    """
    from nanobot.app.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see above
    from nanobot.config.loader import load  # noqa: PLC0415 - loads more than --help needs
    from nanobot.store import maintenance  # noqa: PLC0415

    with errors():
        source, target = load(context.obj, unset={}).database_url, _url(to)
        moved = maintenance.migrate_to(source, target, plugin_revisions())
        if json:
            document(moved)
            return
        place = maintenance.where(target)
        say(f"{moved.total:,} rows are now in {place}, and every log is valid there.")
        _tell_left(moved.left)
        say("To use it: nanobot config set database_url URL")


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
    from nanobot.app.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see above
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.store import maintenance  # noqa: PLC0415

    with errors():
        config = load(context.obj, unset={})
        name = time.strftime("nanobot-%Y%m%d-%H%M%S.db")
        target = Path(file).expanduser().absolute() if file else Path.cwd() / name
        left = maintenance.back_up(config.database_url, target, plugin_revisions())
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
    from nanobot.app.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see above
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.store import maintenance  # noqa: PLC0415

    with errors():
        url = load(context.obj, unset={}).database_url
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

    with errors():
        checked = maintenance.check_store(load(context.obj, unset={}).database_url)
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

    with errors():
        before, after = maintenance.vacuum(load(context.obj, unset={}).database_url)
        say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now.")


def _url(text: str) -> str:
    if text.startswith(("postgresql://", "postgresql+psycopg://")):
        return text
    if text.startswith("sqlite:///") and text != "sqlite:///:memory:":
        return f"sqlite:///{Path(text.removeprefix('sqlite:///')).expanduser().absolute()}"
    raise UsageError('--to must be "sqlite:///PATH" or "postgresql://USER:PASSWORD@HOST/DATABASE"')
