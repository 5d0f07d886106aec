"""`nanobot db migrate`: move the store into another database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.plugins.common.commands.output import document, say
from nanobot.plugins.common.faces import Command, Option

_To = Annotated[
    str, Option(about="The URL of an empty database.", flags=("--to",), metavar="URL", needed=True)
]
_Json = Annotated[bool, Meta(description="Print JSON.")]


def migrate(environ: Mapping[str, str], *, to: _To, json: _Json = False) -> None:
    """Copy the store into another, empty database, and compare the two.

    Stop every gateway first. The copy is one transaction; counts, contents and the chain of every
    log are compared before it commits. The old store is not changed, and stays in use until
    database_url names the new one.
    """
    from nanobot.config.loader import load  # noqa: PLC0415 - loads more than --help needs
    from nanobot.plugins.common.plugin_revisions import plugin_revisions  # noqa: PLC0415 - see below
    from nanobot.plugins.common.store.at_rest import where  # noqa: PLC0415
    from nanobot.plugins.postgres.store.moving import migrate_to  # noqa: PLC0415
    from nanobot.store.servers import url_of, usable  # noqa: PLC0415

    config = load(environ, unset={})
    source, target = url_of(config), usable(_url(to), config)
    moved = migrate_to(source, target, plugin_revisions())
    if json:
        document(moved)
        return
    rows = "1 row is" if moved.total == 1 else f"{moved.total:,} rows are"
    say(f"{rows} now in {where(target)}, and every log is valid there.")
    for name in moved.left:
        say(f"The tables of the plugin {name} were left out: it is not installed here.")
    say("To use it: nanobot config set database_url URL")


def _url(text: str) -> str:
    if text.startswith(("postgresql://", "postgresql+psycopg://")):
        return text
    if text.startswith("sqlite:///") and text != "sqlite:///:memory:":
        return f"sqlite:///{Path(text.removeprefix('sqlite:///')).expanduser().absolute()}"
    raise UsageError('--to must be "sqlite:///PATH" or "postgresql://USER:PASSWORD@HOST/DATABASE"')


def commands() -> list[Command]:
    """See seam.plugin.Plugin.commands."""
    example = "nanobot db migrate --to postgresql://bot@db/nanobot"
    return [Command(name="db migrate", run=migrate, examples=(example,))]
