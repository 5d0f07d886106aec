"""A database whose files are taken away while it is open: what would be lost is refused."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.errors import StoreError, StoreLocked, StoreUnwritable
from nanobot.store.database.lock import HomeLock
from nanobot.store.database.sqlite import SqliteDatabase
from tests.store.crash_points import VERBS
from tests.store.making import admit, said
from tests.store.processes import another, hold, opened

VERBS_AND_NONE = ["", *VERBS]


def removed(home: Path) -> None:
    (home / "state.db").unlink()


def moved(home: Path) -> None:
    (home / "state.db").rename(home / "old.db")


def replaced(home: Path) -> None:
    shutil.copy(home / "state.db", home / "new.db")
    (home / "new.db").replace(home / "state.db")


def made_a_folder(home: Path) -> None:
    removed(home)
    (home / "state.db").mkdir()


def all_moved(home: Path) -> None:
    home.rename(home.with_name("elsewhere"))


def all_replaced(home: Path) -> None:
    all_moved(home)
    shutil.copytree(home.with_name("elsewhere"), home)


def take_unseen(home: Path, take: Callable[[Path], None]) -> None:
    """The folder has the time of before, as a tool that copies folders leaves it."""
    was = home.stat()
    take(home)
    if home.exists():
        os.utime(home, ns=(was.st_atime_ns, was.st_mtime_ns))


AWAY = [removed, moved, replaced, made_a_folder, all_moved, all_replaced]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def insert(connection: sa.Connection) -> None:
    connection.exec_driver_sql("INSERT INTO meta VALUES ('kept', '1')")


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("verb", VERBS_AND_NONE)
@pytest.mark.parametrize("take", AWAY)
async def test_nothing_is_written_where_it_would_be_lost(
    home: Path, take: Callable[[Path], None], verb: str
) -> None:
    store = opened(home)
    await admit(store.journal, said("before"))
    take(home)
    with pytest.raises(StoreUnwritable, match="moved, removed or replaced"):
        await store.database.transact(insert, verb)
    await store.database.close()


@pytest.mark.parametrize("take", AWAY)
async def test_what_is_taken_from_a_folder_at_rest_is_missed_at_once(
    home: Path, take: Callable[[Path], None]
) -> None:
    """Nothing changed there for a while, and whoever takes it sets the time of the folder back."""
    store = opened(home)
    await admit(store.journal, said("before"))
    await asyncio.sleep(0.15)
    await admit(store.journal, said("at rest"))
    inner = store.guard.inner
    assert isinstance(inner, SqliteDatabase)
    assert inner._place is not None
    assert not inner._place.may_have_changed()
    take_unseen(home, take)
    for text in ("meanwhile", "again"):
        with pytest.raises(StoreUnwritable, match="moved, removed or replaced"):
            await admit(store.journal, said(text))
    await store.database.close()


async def test_a_file_that_is_put_back_is_written_again(home: Path) -> None:
    store = opened(home)
    await admit(store.journal, said("before"))
    moved(home)
    with pytest.raises(StoreUnwritable):
        await admit(store.journal, said("meanwhile"))
    (home / "old.db").rename(home / "state.db")
    assert (await admit(store.journal, said("meanwhile")))[0].fresh
    await store.close()
    store = opened(home)
    assert not (await admit(store.journal, said("meanwhile")))[0].fresh
    await store.close()


async def test_a_broken_connection_opens_no_other_file(home: Path) -> None:
    store = opened(home)
    inner = store.guard.inner
    assert isinstance(inner, SqliteDatabase)
    await admit(store.journal, said("before"))
    removed(home)
    inner._close_connection()  # as a failing disk does
    with pytest.raises(StoreUnwritable):
        await admit(store.journal, said("meanwhile"))
    assert not (home / "state.db").exists()
    await store.database.close()


@pytest.mark.parametrize("also", ["", "-shm"])
@pytest.mark.parametrize("made_anew", [False, True])
async def test_a_removed_wal_loses_nothing_in_a_crash(
    home: Path, also: str, *, made_anew: bool
) -> None:
    store = opened(home)
    for number in range(3):
        await admit(store.journal, said(f"before {number}"))
    log = home / "state.db-wal"
    log.unlink()
    if made_anew:
        log.write_bytes(b"")
    if also:
        (home / f"state.db{also}").unlink()
    assert (await admit(store.journal, said("after")))[0].fresh
    copy = home.with_name("crashed")  # what is on the disk now is what a crash leaves
    shutil.copytree(home, copy)
    with closing(sqlite3.connect(copy / "state.db")) as connection:
        assert connection.execute("SELECT count(*) FROM inbound").fetchone() == (4,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    await store.close()


# The lock


async def test_a_removed_lock_is_made_again(home: Path) -> None:
    store = opened(home)
    (home / "state.lock").unlink()
    await admit(store.journal, said("after"))
    with pytest.raises(StoreLocked) as locked:
        HomeLock(home, "another")
    assert locked.value.pid == os.getpid()
    await store.close()
    assert not HomeLock(home, "another").unclean


async def test_who_loses_the_lock_writes_nothing(home: Path) -> None:
    store = opened(home)
    await admit(store.journal, said("before"))
    (home / "state.lock").unlink()
    with another(hold, home, "another gateway") as (_, line):
        assert line.recv() == "held"
        with pytest.raises(StoreLocked, match="another gateway"):
            await admit(store.journal, said("meanwhile"))
        line.send("close")
        assert line.recv() == "closed"
    assert (await admit(store.journal, said("after")))[0].fresh
    await store.close()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def link_to_a_folder(path: Path) -> None:
    path.symlink_to(path.parent)


@pytest.mark.parametrize("make", [Path.mkdir, pipe, link_to_itself, link_to_a_folder])
def test_a_lock_that_is_no_file_is_named(home: Path, make: Callable[[Path], None]) -> None:
    make(home / "state.lock")
    before = descriptors()
    with pytest.raises(StoreUnwritable, match=r"state\.lock is not a file: move it away"):
        opened(home)
    assert descriptors() == before


@pytest.mark.parametrize("number", [5, 37, 38, 95])
def test_a_disk_without_locks_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """NFS without a lock daemon, and some file systems of other machines."""

    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refused)
    with pytest.raises(StoreError, match=r"state\.lock cannot be locked"):
        opened(home)
