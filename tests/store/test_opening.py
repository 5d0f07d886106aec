"""Opening a home: one process at a time, a check after a crash, every trouble in plain words."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nanobot.errors import ConfigError, StoreCorrupt, StoreLocked, StoreUnwritable
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.store.database.lock import HomeLock
from nanobot.store.database.sqlite import PAGE_SIZE
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.testing.machine import CountingIds, ManualClock
from tests.store.making import KEY, admit, answered, begun, said
from tests.store.processes import another, ending_of, hold, limited, live, opened, unprivileged


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def talked(home: Path, count: int = 1) -> None:
    """A home with something in its store."""
    store = opened(home)
    for number in range(count):
        claimed = await begun(store.journal, f"r{number}")
        await answered(store.journal, claimed, f"answer {number} " + "x" * 500)
    await store.close()


def files(home: Path) -> set[str]:
    """What is in a home."""
    return {file.name for file in home.iterdir()}


def unclean(home: Path) -> bool:
    """Whether the last process over a home is known not to have ended cleanly."""
    with HomeLock(home, "test") as lock:
        return lock.unclean


def crashed(home: Path) -> None:
    """The last process over the home was killed."""
    assert ending_of(live, home, "claim:after") != 0


# One process at a time


async def test_a_home_in_use_names_its_holder(tmp_path: Path) -> None:
    with another(hold, tmp_path, "nanobot gateway --role all") as (pid, line):
        assert line.recv() == "held"
        with pytest.raises(StoreLocked, match="nanobot gateway --role all") as locked:
            opened(tmp_path)
        assert (locked.value.pid, locked.value.command) == (pid, "nanobot gateway --role all")
        assert str(tmp_path) in str(locked.value)
        assert str(pid) in str(locked.value)


async def test_a_home_that_was_closed_is_free_and_needs_no_check(tmp_path: Path) -> None:
    with another(hold, tmp_path, "gateway") as (_, line):
        assert line.recv() == "held"
        line.send("close")
        assert line.recv() == "closed"
        assert not unclean(tmp_path)


async def test_the_home_of_a_killed_process_is_free_and_needs_a_check(tmp_path: Path) -> None:
    with another(hold, tmp_path, "gateway") as (_, line):
        assert line.recv() == "held"
    assert unclean(tmp_path)
    assert not unclean(tmp_path)


def test_a_lock_in_words_of_another_version_is_still_a_lock(tmp_path: Path) -> None:
    with HomeLock(tmp_path, "test"):
        (tmp_path / "state.lock").write_text("something else")
        with pytest.raises(StoreLocked) as locked:
            HomeLock(tmp_path, "test")
    assert locked.value.pid == 0


async def test_one_database_is_not_shared_by_two_homes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    clock, ids = ManualClock(), CountingIds()
    store = open_store(
        tmp_path / "one", url, contexts(clock, ids, store_hooks()), command="one", crash=""
    )
    with pytest.raises(StoreLocked, match="one"):
        open_store(
            tmp_path / "two", url, contexts(clock, ids, store_hooks()), command="two", crash=""
        )
    await store.close()
    await open_store(
        tmp_path / "two", url, contexts(clock, ids, store_hooks()), command="two", crash=""
    ).close()


async def test_two_databases_in_one_folder_are_two(tmp_path: Path) -> None:
    clock, ids = ManualClock(), CountingIds()
    stores = [
        open_store(
            tmp_path,
            f"sqlite:///{tmp_path / name}",
            contexts(clock, ids, store_hooks()),
            command="c",
            crash="",
        )
        for name in ("one.db", "two.db")
    ]
    for store in stores:
        await store.close()


async def test_a_home_is_made_private_where_there_was_none(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    await opened(home).close()
    assert home.stat().st_mode & 0o077 == 0
    assert (home / "state.db").exists()


async def test_what_was_kept_is_there_at_the_next_opening(tmp_path: Path) -> None:
    await talked(tmp_path)
    store = opened(tmp_path)
    row = await store.journal.session(KEY)
    await store.close()
    assert row is not None
    assert row.entries == 2


async def test_after_closing_the_database_is_one_file(tmp_path: Path) -> None:
    await talked(tmp_path)
    assert files(tmp_path) == {"state.db", "state.lock"}


async def test_a_store_in_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    store = open_store(
        tmp_path,
        "sqlite:///:memory:",
        contexts(ManualClock(), CountingIds(), store_hooks()),
        command="c",
        crash="",
    )
    assert (await admit(store.journal, said("hello")))[0].fresh
    assert not store.shared
    await store.close()
    assert files(tmp_path) == set()


def test_a_database_without_a_name_is_refused_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="sqlite:////"):
        open_store(
            tmp_path,
            "sqlite://",
            contexts(ManualClock(), CountingIds(), store_hooks()),
            command="c",
            crash="",
        )


# After a crash


def scribble(home: Path) -> None:
    """Damage one page in the middle of the database."""
    file = home / "state.db"
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // PAGE_SIZE * PAGE_SIZE
    content[middle : middle + PAGE_SIZE] = b"\xff" * PAGE_SIZE
    file.write_bytes(content)


async def test_a_crash_alone_damages_nothing(tmp_path: Path) -> None:
    await talked(tmp_path, 5)
    crashed(tmp_path)
    await opened(tmp_path).close()


async def test_a_file_damaged_in_a_crash_is_found_and_the_remedy_named(tmp_path: Path) -> None:
    await talked(tmp_path, 30)
    crashed(tmp_path)
    scribble(tmp_path)
    with pytest.raises(StoreCorrupt, match=r"damaged .*\.bak"):
        opened(tmp_path)


async def test_the_damage_is_found_until_somebody_does_something(tmp_path: Path) -> None:
    await talked(tmp_path, 30)
    crashed(tmp_path)
    scribble(tmp_path)
    for _ in range(3):
        with pytest.raises(StoreCorrupt):
            opened(tmp_path)
    (tmp_path / "state.db").unlink()
    await opened(tmp_path).close()


async def test_a_file_cut_short_is_found(tmp_path: Path) -> None:
    await talked(tmp_path, 30)
    crashed(tmp_path)
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = tmp_path / "state.db"
    file.write_bytes(file.read_bytes()[:-8192])
    with pytest.raises(StoreCorrupt):
        opened(tmp_path)


@pytest.mark.parametrize("after_a_crash", [False, True])
def test_a_file_that_is_no_database_is_found(tmp_path: Path, *, after_a_crash: bool) -> None:
    (tmp_path / "state.db").write_text("my diary " * 1000)
    (tmp_path / "state.lock").write_text("left over" if after_a_crash else "")
    with pytest.raises(StoreCorrupt, match="not a database"):
        opened(tmp_path)
    assert (tmp_path / "state.db").read_text().startswith("my diary")


# A home that cannot be used


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("")
    with pytest.raises(StoreUnwritable, match="home is not a folder: move that file"):
        opened(home)


def test_a_home_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable, match="not a folder"):
        opened(tmp_path / "file" / "home")


def test_a_home_where_nothing_can_be_made_is_named() -> None:
    with pytest.raises(StoreUnwritable, match="NANOBOT_HOME to a folder you own"):
        opened(Path("/proc/nanobot"))


@pytest.mark.parametrize("after_a_crash", [False, True])
@pytest.mark.parametrize("made", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_database_that_is_no_file_is_named(
    tmp_path: Path, made: Callable[[Path], object], *, after_a_crash: bool
) -> None:
    """SQLite would wait for the other end of a pipe, and no signal would end that."""
    made(tmp_path / "state.db")
    (tmp_path / "state.lock").write_text("left over" if after_a_crash else "")
    with pytest.raises(StoreUnwritable, match=r"state\.db is not a file: move it away"):
        opened(tmp_path)


def test_a_database_that_is_a_link_to_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.db").symlink_to("state.db")
    with pytest.raises(StoreUnwritable, match="unable to open"):
        opened(tmp_path)
    (tmp_path / "state.db").unlink()
    assert not unclean(tmp_path)


def test_a_home_without_permission_is_named(public: Path) -> None:
    public.chmod(0o555)
    with another(unprivileged, public) as (_, line):
        kind, text = line.recv()
    assert kind == "StoreUnwritable"
    assert "Permission denied" in text
    assert "NANOBOT_HOME" in text


async def test_a_database_without_permission_is_named(public: Path) -> None:
    await opened(public).close()
    (public / "state.lock").chmod(0o666)
    (public / "state.db").chmod(0o444)
    with another(unprivileged, public) as (_, line):
        kind, text = line.recv()
    assert kind == "StoreUnwritable"
    assert "readonly" in text
    assert "permissions" in text


@pytest.mark.parametrize(
    ("largest", "trouble"), [(0, "state.lock cannot be written"), (4096, "disk")]
)
def test_a_disk_that_takes_no_more_is_named(tmp_path: Path, largest: int, trouble: str) -> None:
    with another(limited, tmp_path, largest) as (_, line):
        kind, text = line.recv()
    assert kind == "StoreUnwritable"
    assert trouble in text
