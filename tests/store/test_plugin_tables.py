"""The tables of plugins: they move with the store, and forget what belongs to an erased
conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa

from nanobot.plugins.common.plugin_revisions import plugin_revisions
from nanobot.plugins.common.store.at_rest import at_rest
from nanobot.plugins.maintenance.store import maintenance
from nanobot.plugins.postgres.store.moving import migrate_to
from nanobot.plugins.postgres.store.plugin_tables import tables_of
from nanobot.seam.entry_points import BUILT_IN
from nanobot.seam.plugin import Plugin, resolved, revision
from nanobot.store.database.database import Database
from nanobot.store.plugin_tables import Revisions, migrate_plugin, numbers, upgrade
from tests.store.conftest import Postgres

PLUGINS: dict[str, Plugin] = {
    name: import_module(f"nanobot.plugins.{name}").PLUGIN for name in BUILT_IN
}
WITH_TABLES = [name for name, plugin in PLUGINS.items() if plugin.migrations]
SIGNS = ("chat", "session", "address", "run", "sender", "person", "plan")
"""What names of columns contain that tell of a conversation."""
KEPT = {
    "language_chats.chat": ("telegram:7", "telegram:7:3"),
    "fork_runs.run_id": ("01abc", "fork:01abc"),
    "fork_runs.plan": ("{}", "fork:01abc"),
}
"""Columns that tell of a conversation: a value, and the conversation with which it must go."""
MADE_OF = {sa.Integer: 1, sa.BigInteger: 1, sa.Float: 1.0}
THEIRS: dict[str, Revisions] = {
    "theirs": [
        "CREATE TABLE theirs_notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, weight BIGINT)",
        lambda connection: connection.exec_driver_sql("CREATE TABLE theirs (name TEXT)"),
    ]
}


def revisions(name: str) -> list[Any]:
    return [revision(step) for step in PLUGINS[name].migrations]


def made(connection: sa.Connection, table: str, known: Mapping[str, Any]) -> None:
    """A row with something in each column."""
    there = sa.Table(table, sa.MetaData(), autoload_with=connection)
    values = {
        column.name: known.get(
            column.name,
            next((v for kind, v in MADE_OF.items() if isinstance(column.type, kind)), "x"),
        )
        for column in there.columns
    }
    connection.execute(sa.insert(there), values)


def contents(url: str) -> dict[str, list[Any]]:
    """The rows of the tables of plugins."""

    def read(connection: sa.Connection) -> dict[str, list[Any]]:
        return {
            table: sorted(map(tuple, connection.execute(sa.text(f"SELECT * FROM {table}"))))
            for name in numbers(connection)
            for table in tables_of(connection, name)
        }

    with at_rest(url) as database:
        return database.run_now(read)


def filled(url: str, known: Mapping[str, Revisions]) -> None:
    """A store with all tables of plugins, each with a row."""

    def fill(connection: sa.Connection) -> None:
        for name, steps in known.items():
            upgrade(connection, name, steps)
            for table in tables_of(connection, name):
                made(connection, table, {})

    with at_rest(url) as database:
        database.run_now(fill)


@pytest.mark.process
def test_the_tables_of_all_plugins_go_to_postgresql_and_back(
    tmp_path: Path, postgres: Postgres
) -> None:
    known = plugin_revisions() | THEIRS
    source, back = f"sqlite:///{tmp_path / 'a.db'}", f"sqlite:///{tmp_path / 'b.db'}"
    filled(source, known)
    before, there = contents(source), postgres.empty()
    assert set(before) >= {"language_chats", "fork_runs", "evals_results", "theirs_notes"}
    assert all(before.values())
    moved = migrate_to(source, there, known)
    assert {table: moved.rows[table] for table in before} == dict.fromkeys(before, 1)
    assert contents(there) == before
    assert maintenance.back_up(there, tmp_path / "kept.db", known) == ()
    assert contents(f"sqlite:///{tmp_path / 'kept.db'}") == before
    migrate_to(there, back, known)
    assert contents(back) == before


@pytest.mark.process
def test_of_two_plugins_whose_names_begin_alike_each_table_is_moved_once(tmp_path: Path) -> None:
    known: dict[str, Revisions] = THEIRS | {
        "theirs_too": ["CREATE TABLE theirs_too_notes (text TEXT)"],
        "mcp": ["CREATE TABLE mcp_seen (text TEXT)"],  # mcp_tools is a table of the store
    }
    source, target = (f"sqlite:///{tmp_path / name}.db" for name in ("source", "target"))
    filled(source, known)
    with at_rest(source) as database:
        assert database.run_now(lambda connection: tables_of(connection, "mcp")) == ["mcp_seen"]
    migrate_to(source, target, known)
    assert contents(target) == contents(source)
    assert sorted(contents(target)) == ["mcp_seen", "theirs", "theirs_notes", "theirs_too_notes"]


def test_tables_of_a_plugin_that_is_not_installed_stay_behind_and_are_named(
    tmp_path: Path,
) -> None:
    source, target = f"sqlite:///{tmp_path / 'a.db'}", f"sqlite:///{tmp_path / 'b.db'}"
    filled(source, plugin_revisions() | THEIRS)
    moved = migrate_to(source, target, plugin_revisions())
    assert moved.left == ("theirs",)
    assert "language_chats" in contents(target)
    assert "theirs_notes" not in contents(target)


async def test_a_start_writes_nothing_of_tables_that_are_of_the_newest_revision() -> None:
    class Alone:
        """A database of one connection."""

        def __init__(self) -> None:
            self.engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)

        async def transact(self, work: Callable[[sa.Connection], Any], verb: str = "") -> Any:
            with self.engine.begin() as connection:
                return work(connection)

    alone, said = Alone(), list[str]()
    database = cast("Database", alone)
    await migrate_plugin(database, "theirs", THEIRS["theirs"][:1])
    sa.event.listen(alone.engine, "before_cursor_execute", lambda *a: said.append(a[2].split()[0]))
    await migrate_plugin(database, "theirs", THEIRS["theirs"][:1])
    assert said
    assert set(said) <= {"PRAGMA", "SELECT"}
    await migrate_plugin(database, "theirs", THEIRS["theirs"])
    assert {"CREATE", "INSERT"} <= set(said)
    assert await database.transact(numbers) == {"theirs": 2}
    alone.engine.dispose()


def columns(name: str, connection: sa.Connection) -> list[str]:
    """The columns of a plugin's tables that tell of a conversation."""
    inspector = sa.inspect(connection)
    return [
        f"{table}.{column['name']}"
        for table in tables_of(connection, name)
        for column in inspector.get_columns(table)
        if any(sign in column["name"] for sign in SIGNS)
    ]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_what_a_plugin_keeps_of_a_conversation_goes_when_it_is_erased(
    name: str, tmp_path: Path
) -> None:
    def erase(connection: sa.Connection) -> None:
        upgrade(connection, name, revisions(name))
        found = columns(name, connection)
        assert set(found) <= KEPT.keys(), "give each such column a value and its conversation"
        for table in {column.partition(".")[0] for column in found}:
            own = {c.partition(".")[2]: KEPT[c] for c in found if c.startswith(f"{table}.")}
            made(connection, table, {column: value for column, (value, _) in own.items()})
            part = PLUGINS[name].store_hooks
            assert part is not None, f"{name} keeps {found}, and has no hook that erases"
            hook = resolved(part)()
            count = sa.text(f"SELECT count(*) FROM {table}")
            hook.erases(connection, "telegram:70")
            assert connection.scalar(count) == 1
            for _, session in own.values():
                hook.erases(connection, session)
            assert connection.scalar(count) == 0

    with at_rest(f"sqlite:///{tmp_path / 'state.db'}") as database:
        database.run_now(erase)
