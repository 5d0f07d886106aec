"""What a memory costs in a scope of thousands, and what is kept in the process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.memory.files import MemoryFiles
from nanobot.plugins.memory.followed import FollowedScopes, ReadFile
from nanobot.plugins.memory.index import Memory
from nanobot.plugins.memory.items import digest_of
from nanobot.plugins.memory.records import FileChanges, MemoryLine, VectorRow
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.plugins.memory.sync import FileSync
from nanobot.plugins.memory.vector_index import VectorIndex, packed
from nanobot.session.scopes import OWNER
from nanobot.store.database.database import Database, Work
from nanobot.store.unit import StoreContext
from nanobot.testing.machine import CountingIds, ManualClock
from tests.plugins.memory.remembering import BOB, EVE, NOBODY, WordEmbedder, found
from tests.store.conftest import sqlite
from tests.store.home import Home, in_memory

T = TypeVar("T")
MANY = 3_000


class Cost(msgspec.Struct):
    """What a transaction took: instructions of SQLite, rows that reached Python, and rows that it
    wrote, those of the index of words too. Counted, because a busy machine disturbs every clock."""

    steps: int = 0
    rows: int = 0
    written: int = 0


class MeteredDatabase:
    """Knows what each transaction took."""

    def __init__(self, database: Database) -> None:
        self.dialect = database.dialect
        self.costs: list[Cost] = []
        self._database = database

    async def transact(self, work: Work[T], verb: str = "") -> T:
        def metered(connection: Any) -> T:
            driver, cost = connection.connection.driver_connection, Cost()
            self.costs.append(cost)

            def step() -> int:
                cost.steps += 100
                return 0

            def row(_: object, values: tuple[Any, ...]) -> tuple[Any, ...]:
                cost.rows += 1
                return values

            before, driver.row_factory = driver.total_changes, row
            driver.set_progress_handler(step, 100)
            try:
                return work(connection)
            finally:
                driver.set_progress_handler(None, 0)
                driver.row_factory = None
                cost.written = driver.total_changes - before

        return await self._database.transact(metered, verb)

    async def close(self) -> None:
        await self._database.close()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[MeteredDatabase]:
    opened = MeteredDatabase(sqlite(tmp_path / "state.db"))
    yield opened
    await opened.close()


@pytest.mark.process
async def test_what_a_memory_costs_does_not_grow_with_its_scope(
    database: MeteredDatabase, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    for day in range(10):
        lines = (f"- Note {day * MANY + n} of many\n" for n in range(MANY // 10))
        (tmp_path / f"memory/2026-01-{day + 10}.md").write_text("".join(lines))
    writer = StoreContext(ManualClock(), CountingIds(), "us")
    store = SqlMemoryStore(database, writer, SqlEraser(database, writer))
    mem = Memory(MemoryFiles(tmp_path), store, ManualClock(), WordEmbedder())
    await mem.listed(scopes=None, limit=1)
    assert await mem.embed_all()
    begin = len(database.costs)
    for number in range(3):
        saved = await mem.save(OWNER, f"Anna has {number} dogs", NOBODY)
        assert await mem.embed_all()
        assert f"Anna has {number} dogs" in await found(mem, OWNER, "Anna dogs")
        await mem.listed(scopes=[OWNER], limit=50)
        await mem.show(saved.id, OWNER)
    again = Memory(MemoryFiles(tmp_path), store, ManualClock())
    await again.listed(scopes=None, limit=50)
    costs = database.costs[begin:]
    assert len(await again.listed(scopes=None, limit=2 * MANY)) == MANY + 3
    assert max(cost.rows for cost in costs) <= 500
    assert max(cost.steps for cost in costs) < 20 * MANY, "a look at each row's place in an index"


@pytest.mark.process
async def test_files_of_years_are_read_for_the_first_time_without_a_long_transaction(
    database: MeteredDatabase, tmp_path: Path
) -> None:
    """FTS5 by itself merges its index rarely, and much of it at once."""
    writer = StoreContext(ManualClock(), CountingIds(), "us")
    store = SqlMemoryStore(database, writer, SqlEraser(database, writer))
    lines = []
    for number in range(3 * MANY):
        words = " ".join(f"word{number * factor % 7_919}" for factor in range(3, 43))
        text = f"Note {number}: {words}"
        lines.append(MemoryLine(text, digest_of(text), text.lower(), "MEMORY.md", "note"))
    for batch in FileChanges(lines=tuple(lines)).batches():
        await store.follow(OWNER, batch)
    written = sorted(cost.written for cost in database.costs)
    assert written[-1] < 2 * written[len(written) // 2]  # three times it with FTS5's own merging
    assert len(await store.find(OWNER, ["word7"], 500)) > 40


def test_what_is_known_of_files_is_bounded_and_of_the_newest_scopes() -> None:
    known = FollowedScopes(max_bytes=20_000)
    for number in range(100):
        known.put(f"chats/t/{number}", {"a.md": ReadFile.of((1, 2, 3), [digest_of(str(number))])})
        assert "chats/t/0" not in known or known.get("chats/t/0")
    assert "chats/t/99" in known
    assert "chats/t/1" not in known
    assert "chats/t/0" in known  # it was looked at all the time
    known.put("chats/t/big", {"b.md": ReadFile(None, b"x" * 100_000)})
    assert "chats/t/big" in known
    assert "chats/t/99" not in known


@in_memory
async def test_a_scope_of_which_nothing_is_known_any_more_is_followed_all_the_same(
    home: Home, tmp_path: Path
) -> None:
    sync = FileSync(
        MemoryFiles(tmp_path),
        home.memories(),
        home.clock,
        max_file_chars=8_000,
        zone="UTC",
        followed=FollowedScopes(max_bytes=1),
    )
    store = home.memories()
    for scope in (EVE, BOB):
        folder = tmp_path / "memory" / scope
        folder.mkdir(parents=True)
        (folder / "a.md").write_text("- tea\n- milk\n")
        await sync.follow(scope)
    assert not sync.is_known(EVE)
    (tmp_path / "memory" / EVE / "a.md").write_text("- tea\n- sugar\n")
    await sync.follow(EVE)
    texts = {row.text for row in await store.listed(scopes=[EVE], state="", limit=9)}
    assert texts == {"tea", "sugar"}


async def test_a_line_in_two_files_stays_until_it_is_in_none(tmp_path: Path, mem: Memory) -> None:
    kept = await mem.save(OWNER, "The code is 7731", NOBODY, kind="fact")
    other = tmp_path / "memory" / "copy.md"
    other.parent.mkdir(exist_ok=True)
    other.write_text("- The code is 7731\n")
    assert await found(mem, OWNER, "code") == ["The code is 7731"]
    (tmp_path / "MEMORY.md").write_text("- Nothing else\n")
    assert await found(mem, OWNER, "code") == ["The code is 7731"]
    view = await mem.show(kept.id)
    assert view.provenance.file == "memory/copy.md"
    other.unlink()
    assert await found(mem, OWNER, "code") == []


async def test_what_was_forgotten_and_is_written_again_by_hand_is_kept(
    tmp_path: Path, mem: Memory
) -> None:
    kept = await mem.save(OWNER, "The code is 7731", NOBODY, kind="fact")
    text = (tmp_path / "MEMORY.md").read_text()
    await mem.forget(kept.id)
    (tmp_path / "MEMORY.md").write_text(text)
    assert await found(mem, OWNER, "code") == ["The code is 7731"]


class Rows:
    """As much of a store of memories as an index of vectors asks."""

    def __init__(self) -> None:
        self.rows: dict[str, list[VectorRow]] = {}
        self.read = 0

    async def vectors(self, scope: str, model: str, after: int, limit: int) -> list[VectorRow]:
        rows = [row for row in self.rows.get(scope, []) if row.seq > after][:limit]
        self.read += len(rows)
        return rows


async def test_vectors_are_read_once_and_those_searched_longest_ago_go() -> None:
    store = Rows()
    for scope in ("a", "b", "c"):
        vectors = ([1.0, number / 1000] for number in range(1000))
        store.rows[scope] = [VectorRow(n + 1, n, packed(v)) for n, v in enumerate(vectors)]
    index = VectorIndex(store, max_bytes=100_000)  # type: ignore[arg-type]
    assert await index.nearest("a", "m", [1.0, 0.0], 3) == [0, 1, 2]
    assert store.read == 1000
    store.rows["a"].append(VectorRow(1001, 7_777, packed([1.0, 0.0])))
    assert 7_777 in await index.nearest("a", "m", [1.0, 0.0], 3)
    assert store.read == 1001
    await index.nearest("b", "m", [1.0, 0.0], 3)
    await index.nearest("b", "m", [1.0, 0.0], 3)
    assert store.read == 2001
    await index.nearest("c", "m", [1.0, 0.0], 3)
    await index.nearest("a", "m", [1.0, 0.0], 3)
    assert store.read == 2001 + 1000 + 1001
