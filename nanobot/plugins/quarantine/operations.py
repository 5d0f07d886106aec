"""Operations on rows that could not be read."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Limit, Rest
from nanobot.operations.rendering import Now, cell
from nanobot.operations.unreadable import why
from nanobot.plugins.common.jobs.plans import Fired
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.quarantine.content import Quarantine, QuarantinedContent
from nanobot.session.keys import TASKS
from nanobot.session.quarantine import Quarantined
from nanobot.session.states import RunKind
from nanobot.text import Sentence

_Number: TypeAlias = Annotated[int, Meta(ge=1, description="The number in `quarantine list`.")]


def _quarantine(context: OperationContext) -> Quarantine:
    return context.of(Quarantine)  # type: ignore[type-abstract]


def _list_text(rows: list[Quarantined], now: Now) -> Sentence:
    lines = [
        f"- #{each.id} {each.table} {each.key} ({each.state}, {cell('at', each.at, now)})\n"
        f"  {why(each)}"
        for each in rows
    ]
    return "\n".join(lines) or "Nothing is in quarantine."


def _content_text(shown: QuarantinedContent, _: Now) -> Sentence:
    lines = [f"#{shown.row.id} {shown.row.table} {shown.row.key}: {why(shown.row)}"]
    for row in shown.content:
        lines += [f"{row.table}:", *(f"  {name} = {text}" for name, text in row.columns.items())]
    return "\n".join(lines)


def _restored_text(row: Quarantined, _: Now) -> Sentence:
    return f"{row.table} {row.key} is back."


@operation(
    "quarantine list",
    command="db quarantine list",
    reads=True,
    own_command=True,
    text=_list_text,
    example="of=runs",
)
async def list_quarantine(
    context: OperationContext,
    _: Caller,
    *,
    of: Annotated[
        str, Meta(max_length=100, description="Rows that this list cannot show, as in `runs list`.")
    ] = "",
    table: Annotated[str, Meta(max_length=100, description="Rows of this table only.")] = "",
    restored: Annotated[bool, Meta(description="Include rows that were put back.")] = False,
    limit: Limit = 100,
) -> list[Quarantined]:
    """List unreadable rows, newest first."""
    tables = [table] if table else []
    if of:
        shown = [each.shows for each in context.listed if each.name in (of, f"{of} list")]
        tables += [name for names in shown for name in names]
        if not tables:
            raise UsageError(f"`of` must be the name of a list, as in `runs list`, not {of[:80]!r}")
    quarantine = _quarantine(context)
    return await quarantine.listed(tables=tables, session="", restored=restored, limit=limit)


@operation(
    "quarantine show",
    command="db quarantine show",
    reads=True,
    own_command=True,
    text=_content_text,
    example="3",
)
async def show_quarantined(
    context: OperationContext, caller: Caller, id: _Number
) -> QuarantinedContent:
    """Show an unreadable row with its columns."""
    caller.at_this_machine("Showing unreadable rows")
    return await _quarantine(context).shown(id)


@operation(
    "quarantine restore",
    command="db quarantine restore",
    own_command=True,
    text=_restored_text,
    example="3 state=completed",
)
async def restore_quarantined(
    context: OperationContext,
    caller: Caller,
    id: _Number,
    values: Annotated[
        Rest, Meta(description="COLUMN=VALUE for each column to repair, one a line.")
    ] = "",
) -> Quarantined:
    """Put a row back into its table."""
    caller.at_this_machine("Restoring unreadable rows")
    pairs = [line.partition("=") for line in values.splitlines()]
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise UsageError("`values` takes COLUMN=VALUE, one a line")
    given = {name.strip(): value for name, _, value in pairs}
    engine = context.engine
    row, chats = await _quarantine(context).restore(id, given)
    for chat in chats:
        engine.bus.owed(chat)
    if row.session:
        task = row.session.startswith(f"{TASKS.word}:")
        engine.bus.wake(row.session, RunKind.TASK if task else RunKind.CHAT)
    jobs = context.offered(JobService)  # type: ignore[type-abstract]
    if jobs is not None:
        jobs.announce(Fired())
    return row


def operations() -> list[Operation]:
    """What people can do with them."""
    return [list_quarantine, show_quarantined, restore_quarantined]
