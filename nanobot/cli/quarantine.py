"""`nanobot db quarantine`: unreadable rows, and how to restore them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from nanobot.cli.exit_codes import errors
from nanobot.cli.generated import example, subcommands
from nanobot.cli.output import document, say
from nanobot.errors import UsageError
from nanobot.session.quarantine import Quarantined

quarantine = subcommands()

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Id = Annotated[int, typer.Argument(metavar="ID", help="Its number in the list.")]


@quarantine.command("list", epilog=example("nanobot db quarantine list"))
def listing(
    context: typer.Context,
    table: Annotated[str, typer.Option("--table", help="Rows of this table only.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Restored rows, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most.")] = 100,
    json: Json = False,
) -> None:
    """List rows that could not be read, the latest first.

    nanobot continues without such a row and tells the owners. A `moved` row is only in quarantine,
    a `repaired` row is still in its table, with a plain value in the column that was unreadable.
    """
    from nanobot.config.loader import load  # noqa: PLC0415 - loads more than --help needs
    from nanobot.store.quarantine import at_rest  # noqa: PLC0415

    with errors():
        url = load(context.obj, unset={}).database_url
        rows = at_rest.listed(url, table=table, restored=everything, limit=limit)
        if json:
            document(rows)
            return
        for row in rows:
            at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.at))
            more = f", with {row.with_it} more" if row.with_it else ""
            say(f"#{row.id}  {at}  {row.state}{more}  {row.table} {row.key}")
            say(f"    {row.column}: {row.reason}")
        if not rows:
            say("Nothing is in quarantine.")


@quarantine.command("show", epilog=example("nanobot db quarantine show 3"))
def show(context: typer.Context, number: Id, json: Json = False) -> None:
    """Show a row with its columns."""
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.store.quarantine import at_rest  # noqa: PLC0415

    with errors():
        shown = at_rest.shown(load(context.obj, unset={}).database_url, number)
        if json:
            document(shown)
            return
        say(f"{shown.row.column}: {shown.row.reason}")
        for kept in shown.content:
            say(f"{kept.table}:")
            for name, value in kept.columns.items():
                say(f"    {name} = {value}")


@quarantine.command("restore", epilog=example("nanobot db quarantine restore 3"))
def restore(
    context: typer.Context,
    number: Id,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="COLUMN=VALUE", help="Repair a column (repeatable)."),
    ] = None,
) -> None:
    """Put a row back into its table, also while a gateway runs.

    The rows that were moved with it return, too. A row that still cannot be read is refused.
    Deleting a conversation or erasing an entry also removes its rows from quarantine.
    """
    from nanobot.config.loader import load  # noqa: PLC0415 - see above
    from nanobot.server.client import call  # noqa: PLC0415
    from nanobot.store.quarantine import at_rest  # noqa: PLC0415

    with errors():
        given = _pairs(values or [])
        config = load(context.obj, unset={})
        asked = {"id": number, "values": "\n".join(values or [])}
        raw = asyncio.run(call(config.home / "control.sock", "quarantine restore", asked))
        if raw is not None:
            row = msgspec.json.decode(raw, type=Quarantined)
        else:
            row = at_rest.restore(config.database_url, number, given)
        say(f"{row.table} {row.key} is back.")


def _pairs(values: Sequence[str]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if any(not equals or not name for name, equals, _ in pairs):
        raise UsageError("--set takes COLUMN=VALUE")
    return {name: value for name, _, value in pairs}
