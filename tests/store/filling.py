"""A store with something in each of its tables, and databases as earlier builds have left them."""

from __future__ import annotations

import asyncio
import gzip
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.store.database import schema
from nanobot.store.database.migrate import OURS, Revisions, prepare, upgrade
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, begun, claim, said, told

REVISIONS = Path(__file__).parent / "revisions"
"""`NNNN.db.gz`: a database of each revision there was, with what `fill` puts into it. With a new
revision comes a new one: `python -m tests.store.filling`."""
OTHER = "telegram:2"
SPECIAL = "naïve €, \N{PARTY POPPER}, 'quoted' \\ and\nlines"

Columns = dict[str, list[str]]


async def fill(journal: SqlJournal, eraser: SqlEraser) -> None:
    """Two conversations: one with an entry erased, one in the middle of a run; a message waits."""
    for number in range(3):
        claimed = await begun(journal, f"r{number}")
        await answered(journal, claimed, f"answer {number} {SPECIAL}")
    await eraser.erase(KEY, 1, "ann")
    await journal.post(KEY, told("By the way", "post:1"))
    await admit(journal, said("waits", key="waiting"), session_key=OTHER, cursor="42")
    await claim(journal, "live", OTHER)
    await admit(journal, said("waits longer", key="longer"), session_key=OTHER)


def complete(connection: sa.Connection) -> None:
    """A row in each table that has none."""
    there = set(sa.inspect(connection).get_table_names())
    for table in schema.metadata().sorted_tables:
        query = sa.select(sa.func.count()).select_from(table)
        if table.name in there and not connection.scalar(query):
            values = {column.name: _value(column) for column in table.columns}
            connection.execute(sa.insert(table), values)


def _value(column: sa.Column[Any]) -> object:
    kind = column.type.python_type
    if column.name == "state" and kind is str:
        return "done"
    examples: dict[type, object] = {
        str: f"{column.name} {SPECIAL}",
        int: 7,
        float: 1_700_000_000.125,
        bytes: b'"\xc3\xa9"',
        bool: True,
    }
    return examples[kind]


def columns(connection: sa.Connection) -> Columns:
    """The columns that the tables of a database have."""
    inspector = sa.inspect(connection)
    there = set(inspector.get_table_names())
    return {
        table.name: [column["name"] for column in inspector.get_columns(table.name)]
        for table in schema.metadata().sorted_tables
        if table.name in there
    }


def everything(connection: sa.Connection, which: Columns | None = None) -> dict[str, Any]:
    """What is in each table, or in these columns of some."""
    content = {}
    for table in schema.metadata().sorted_tables:
        if which is None or table.name in which:
            names = (
                [column.name for column in table.columns] if which is None else which[table.name]
            )
            query = sa.select(*(table.c[name] for name in names))
            content[table.name] = sorted(map(repr, map(tuple, connection.execute(query))))
    return content


def of_revision(revision: str, folder: Path) -> Path:
    """The database of a revision, to be worked on."""
    path = folder / "state.db"
    path.write_bytes(gzip.decompress((REVISIONS / f"{revision}.db.gz").read_bytes()))
    return path


def build(revision: str, path: Path, source: sa.Connection) -> None:
    """A database of that revision with the rows of a newer one."""
    until = OURS.revisions[: OURS.revisions.index(revision) + 1]
    database = SqliteDatabase(path)
    history = Revisions(until, OURS.folder)

    def copy(target: sa.Connection) -> None:
        upgrade(target, history)
        target.execute(sa.delete(schema.meta))
        for name, names in columns(target).items():
            table = schema.metadata().tables[name]
            rows = source.execute(sa.select(*(table.c[column] for column in names))).all()
            if rows:
                target.execute(sa.insert(table), [dict(row._mapping) for row in rows])

    database.run_now(copy)
    database.shut()


async def main(folder: Path) -> None:
    """Write the databases of revisions that have none yet; those that there are stay."""

    def opened() -> SqliteDatabase:
        database = SqliteDatabase(folder / "source.db")
        database.run_now(prepare)
        return database

    home = Home(opened, shared=False)
    await fill(home.journal(), home.eraser())
    await home.do(complete)
    missing = [needed for needed in OURS.revisions if not (REVISIONS / f"{needed}.db.gz").exists()]
    for revision in missing:
        path = folder / f"{revision}.db"
        await home.do(partial(build, revision, path))
        packed = gzip.compress(path.read_bytes(), mtime=0)
        (REVISIONS / f"{revision}.db.gz").write_bytes(packed)
    await home.database.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(Path(name)))
