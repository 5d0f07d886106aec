"""`nanobot db quarantine`: unreadable rows, and how to restore them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from nanobot.plugins.common.faces import Command, Option

Json = Annotated[bool, Option(about="Print JSON.")]
Number = Annotated[int, Option(about="Its number in the list.", words=True, metavar="ID")]


def commands() -> list[Command]:
    """The commands."""
    start = "nanobot db quarantine"
    return [
        Command(name="db quarantine list", run=listing, examples=(f"{start} list",)),
        Command(name="db quarantine show", run=show, examples=(f"{start} show 3",)),
        Command(name="db quarantine restore", run=restore, examples=(f"{start} restore 3",)),
    ]


def listing(
    environ: Mapping[str, str],
    *,
    table: Annotated[str, Option(about="Rows of this table only.")] = "",
    everything: Annotated[bool, Option(about="Restored rows, too.", flags=("--all",))] = False,
    limit: Annotated[int, Option(about="At most.", least=1, most=10_000)] = 100,
    json: Json = False,
) -> None:
    """List rows that could not be read, the latest first.

    nanobot continues without such a row and tells the owners. A `moved` row is only in quarantine,
    a `repaired` row is still in its table, with a plain value in the column that was unreadable.
    """
    import time  # noqa: PLC0415 - as below

    from nanobot.config.loader import load  # noqa: PLC0415
    from nanobot.plugins.common.commands.output import document, say  # noqa: PLC0415 - more than --help needs
    from nanobot.plugins.quarantine.store import at_rest  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    url = url_of(load(environ, unset={}))
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


def show(environ: Mapping[str, str], *, number: Number, json: Json = False) -> None:
    """Show a row with its columns."""
    from nanobot.config.loader import load  # noqa: PLC0415
    from nanobot.plugins.common.commands.output import document, say  # noqa: PLC0415 - as above
    from nanobot.plugins.quarantine.store import at_rest  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    shown = at_rest.shown(url_of(load(environ, unset={})), number)
    if json:
        document(shown)
        return
    say(f"{shown.row.column}: {shown.row.reason}")
    for kept in shown.content:
        say(f"{kept.table}:")
        for name, value in kept.columns.items():
            say(f"    {name} = {value}")


def restore(
    environ: Mapping[str, str],
    *,
    number: Number,
    values: Annotated[
        list[str] | None,
        Option(about="Repair a column (repeatable).", flags=("--set",), metavar="COLUMN=VALUE"),
    ] = None,
) -> None:
    """Put a row back into its table, also while a gateway runs.

    The rows that were moved with it return, too. A row that still cannot be read is refused.
    Deleting a conversation or erasing an entry also removes its rows from quarantine.
    """
    import asyncio  # noqa: PLC0415 - as above

    import msgspec  # noqa: PLC0415

    from nanobot.config.loader import load  # noqa: PLC0415
    from nanobot.plugins.common.commands.output import say  # noqa: PLC0415
    from nanobot.plugins.common.control.client import call  # noqa: PLC0415
    from nanobot.plugins.quarantine.store import at_rest  # noqa: PLC0415
    from nanobot.session.quarantine import Quarantined  # noqa: PLC0415
    from nanobot.store.servers import url_of  # noqa: PLC0415

    given = _pairs(values or [])
    config = load(environ, unset={})
    asked = {"id": number, "values": "\n".join(values or [])}
    raw = asyncio.run(call(config.home / "control.sock", "quarantine restore", asked))
    if raw is not None:
        row = msgspec.json.decode(raw, type=Quarantined)
    else:
        row = at_rest.restore(url_of(config), number, given)
    say(f"{row.table} {row.key} is back.")


def _pairs(values: Sequence[str]) -> dict[str, str]:
    from nanobot.errors import UsageError  # noqa: PLC0415 - as above

    pairs = [value.partition("=") for value in values]
    if any(not equals or not name for name, equals, _ in pairs):
        raise UsageError("--set takes COLUMN=VALUE")
    return {name: value for name, _, value in pairs}
