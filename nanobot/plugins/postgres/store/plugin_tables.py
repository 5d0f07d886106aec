"""Moves the tables of plugins along with a store: the other database gets the same revisions of
them, and then their rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa
from loguru import logger

from nanobot.errors import StoreCorrupt, UsageError
from nanobot.plugins.postgres.store.row_copy import Content, content_of, copy_rows
from nanobot.store.database.tables import metadata
from nanobot.store.plugin_tables import REVISIONS, Revisions, numbers, upgrade


class PluginsMoved(msgspec.Struct, frozen=True, kw_only=True):
    """The rows moved, by table. `left`: plugins whose tables stay behind, since this installation
    does not know how to make them."""

    rows: dict[str, int]
    left: tuple[str, ...] = ()


def move_plugins(
    source: sa.Connection, target: sa.Connection, known: Mapping[str, Revisions]
) -> PluginsMoved:
    """Copy the tables of plugins into an empty database, and compare. `known`: the revisions of the
    installed plugins. Raises UsageError if the target has rows of them, and StoreCorrupt if a copy
    differs."""
    rows: dict[str, int] = {}
    left: list[str] = []
    for name, number in numbers(source).items():
        revisions = known.get(name, ())
        if number > len(revisions):
            logger.warning(
                "the tables of the plugin {} stay behind: it is not installed here", name
            )
            left.append(name)
            continue
        _refuse_used(target, name)
        upgrade(target, name, revisions[:number])
        for table in tables_of(source, name):
            content = _copy(source, target, table)
            if content.rows:
                rows[table] = content.rows
    return PluginsMoved(rows=rows, left=tuple(left))


def tables_of(connection: sa.Connection, name: str) -> list[str]:
    """The tables of a plugin, by name: not those of the store, and not those of a plugin whose
    longer name begins like this one."""
    longer = [each for each in numbers(connection) if each.startswith(f"{name}_")]
    tables = {*sa.inspect(connection).get_table_names()} - {*metadata.tables, REVISIONS}
    return sorted(
        table
        for table in tables
        if _is_of(table, name) and not any(_is_of(table, each) for each in longer)
    )


def _is_of(table: str, plugin: str) -> bool:
    return f"{table}_".startswith(f"{plugin}_")


def _refuse_used(target: sa.Connection, name: str) -> None:
    for table in tables_of(target, name):
        there = sa.Table(table, sa.MetaData(), autoload_with=target)
        if target.execute(sa.select(sa.literal(1)).select_from(there).limit(1)).first():
            raise UsageError(
                f"the target is not empty ({table} has rows): give a database or a file that is new"
            )


def _copy(source: sa.Connection, target: sa.Connection, name: str) -> Content:
    here = sa.Table(name, sa.MetaData(), autoload_with=source)
    there = sa.Table(name, sa.MetaData(), autoload_with=target)
    copied = copy_rows(source, target, here, there)
    if content_of(target, there, [column.name for column in here.columns]) != copied:
        raise StoreCorrupt(f"the copy of the table {name} differs from the original")
    if target.dialect.name == "postgresql":
        _go_on_counting(target, there)
    return copied


def _go_on_counting(target: sa.Connection, table: sa.Table) -> None:
    """Set the sequence of a numbered table so that the next number is a new one."""
    for column in table.primary_key:
        sequence = target.scalar(
            sa.text("SELECT pg_get_serial_sequence(:t, :c)"), {"t": table.name, "c": column.name}
        )
        last = target.scalar(sa.select(sa.func.max(column))) if sequence else None
        if last:
            target.execute(sa.text("SELECT setval(:s, :n)"), {"s": sequence, "n": last})
