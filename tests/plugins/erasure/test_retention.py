"""Old entries go into files and out of the store; the log says so, and its chain holds."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from nanobot.errors import StoreUnwritable
from nanobot.plugins.erasure.archives import ArchivedEntry, Archives
from nanobot.plugins.erasure.store import retention
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.erasure.store.retention import Retention
from nanobot.session.chain import GENESIS, ChainLink, link_hash, payload_digest
from nanobot.session.entries import ErasedEntry
from nanobot.store.unit import StoreContext
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, begun, claim, said

DAY = 86_400.0


def keeper(home: Home, folder: Path, days: float = 30.0) -> Retention:
    writer = StoreContext(home.clock, home.ids, "us", 600.0 if home.shared else None)
    return Retention(home.database, writer, home.eraser(), days, Archives(folder))


def lines(folder: Path, name: str = "telegram%3A7.jsonl") -> list[ArchivedEntry]:
    data = (folder / name).read_bytes().splitlines()
    return [msgspec.json.decode(line, type=ArchivedEntry) for line in data]


async def run_until(retention: Retention, holds: Callable[[], bool]) -> None:
    """Run it until something holds."""
    running = asyncio.create_task(retention.run())
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - nothing tells when a file has gone
            await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


def cut_off(folder: Path) -> None:
    """As a crash leaves a file that it was writing."""
    with (folder / "telegram%3A7.jsonl").open("ab") as archive:
        archive.write(b'{"session_key":"telegram:7","seq":5,"run')


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def grown(home: Home, first: int = 0, last: int = 3) -> None:
    for number in range(first, last):
        claimed = await begun(home.journal(), f"r{number}")
        await answered(home.journal(), claimed, f"secret {number}")


def chained(archive: list[ArchivedEntry]) -> bytes:
    """The chain over an archive that begins with the log."""
    chain = GENESIS
    for entry in archive:
        payload, salt = base64.b64decode(entry.payload), base64.b64decode(entry.salt)
        digest = base64.b64decode(entry.digest)
        assert not payload or payload_digest(salt, payload) == digest
        link = ChainLink(
            session_key=entry.session_key,
            seq=entry.seq,
            run_id=entry.run_id,
            kind=entry.kind,
            at=entry.at,
            digest=digest,
        )
        chain = link_hash(chain, link)
        assert chain == base64.b64decode(entry.hash)
    return chain


async def test_what_is_old_is_in_a_file_with_its_chain_and_no_longer_in_the_store(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    old = await home.entries(KEY)
    home.clock.advance(31 * DAY)
    await grown(home, 3, 5)
    assert await keeper(home, tmp_path).archive() == len(old)
    archive = lines(tmp_path)
    assert [entry.seq for entry in archive] == [entry.seq for entry in old]
    chained(archive)
    bodies = await home.bodies(KEY)
    assert bodies[: len(old)] == [None] * len(old)
    assert bodies[-1] == ErasedEntry(
        seq=1, last=len(old), by="retention", archive="telegram%3A7.jsonl"
    )
    assert await home.verify(KEY) == len(bodies)
    kept = str(await home.everything())
    assert "secret 2" not in kept
    assert "secret 3" in kept
    assert await keeper(home, tmp_path).archive() == 0
    claimed = await begun(home.journal(), "next")
    assert [entry.body for entry in claimed.entries if entry.body is None] == []
    assert "secret 3" in str(claimed.entries)


@pytest.mark.parametrize("jump", [DAY, 31 * DAY, 400 * DAY, 100 * 365 * DAY])
async def test_a_clock_that_is_set_forward_makes_nothing_old(
    home: Home, tmp_path: Path, jump: float
) -> None:
    """As after a restored virtual machine, until the right time is known again."""
    await grown(home)
    keeping = keeper(home, tmp_path)
    home.clock.set_by(jump)
    assert await keeping.archive() == 0
    home.clock.advance(31 * DAY)
    assert await keeping.archive() > 0


async def test_nothing_leaves_a_conversation_in_which_something_runs(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    await begun(home.journal(), "live")
    home.clock.advance(31 * DAY)
    assert await keeper(home, tmp_path).archive() == 0
    assert None not in await home.bodies(KEY)


async def test_a_crash_after_the_file_was_written_writes_nothing_twice(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "ROWS", 4)
    await grown(home)
    home.clock.advance(31 * DAY)
    part = await home.do(lambda connection: retention.oldest(connection, KEY, home.clock.now()))
    assert part is not None
    await Archives(tmp_path).append(KEY, part.entries)
    cut_off(tmp_path)
    count = await keeper(home, tmp_path).archive()
    assert [entry.seq for entry in lines(tmp_path)] == list(range(1, count + 1))
    chained(lines(tmp_path))
    assert await home.verify(KEY) > count


async def test_a_folder_that_cannot_be_written_leaves_the_store_as_it_is(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    taken = tmp_path / "taken"
    taken.touch()
    assert await keeper(home, taken).archive() == 0
    assert None not in await home.bodies(KEY)
    with pytest.raises(StoreUnwritable):
        await Archives(taken).append(KEY, ())


async def test_without_days_everything_stays(home: Home, tmp_path: Path) -> None:
    await grown(home)
    home.clock.advance(4_000 * DAY)
    assert await keeper(home, tmp_path, days=36_500.0).archive() == 0
    await run_until(keeper(home, tmp_path, days=0.0), lambda: len(home.clock.sleeps) > 2)
    assert None not in await home.bodies(KEY)


async def test_a_conversation_that_waits_for_an_answer_goes_on_after_its_past_is_archived(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    await admit(home.journal(), said("again", key="again"))
    assert await keeper(home, tmp_path).archive() > 0
    claimed = await claim(home.journal(), "again")
    await answered(home.journal(), claimed, "here")
    assert await home.verify(KEY) > 0


async def test_a_conversation_that_began_anew_is_archived_behind_the_one_that_was_deleted(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    count = await keeper(home, tmp_path).archive()
    await home.eraser().delete(KEY)
    await grown(home, 3, 5)
    home.clock.advance(31 * DAY)
    again = await keeper(home, tmp_path).archive()
    archive = lines(tmp_path)
    assert 0 < again < count
    assert [entry.seq for entry in archive] == [*range(1, count + 1), *range(1, again + 1)]
    chained(archive[:count])
    chained(archive[count:])


async def test_a_conversation_that_is_deleted_leaves_no_archive(home: Home, tmp_path: Path) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    archives = Archives(tmp_path)
    await keeper(home, tmp_path).archive()
    assert lines(tmp_path)
    writer = StoreContext(home.clock, home.ids, "us")
    await SqlEraser(home.database, writer, archives=archives).delete(KEY)
    assert names(tmp_path) == []


async def test_an_entry_in_an_archive_is_erased_there_and_its_chain_holds(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    count = await keeper(home, tmp_path).archive()
    await home.eraser().erase(KEY, 1, "ann")
    await home.eraser().erase(KEY, count, "ann")
    cut_off(tmp_path)
    await home.eraser().erase_archived(Archives(tmp_path))
    await Archives(tmp_path).append(KEY, ())
    archive_lines = lines(tmp_path)
    assert [entry.seq for entry in archive_lines if not entry.payload] == [1, count]
    assert [entry.seq for entry in archive_lines] == list(range(1, count + 1))
    chained(archive_lines)
    assert (tmp_path / "telegram%3A7.jsonl").stat().st_mode & 0o077 == 0


async def test_what_another_process_has_deleted_leaves_the_archives_by_itself(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    await keeper(home, tmp_path).archive()
    await home.eraser().delete(KEY)
    assert lines(tmp_path)
    await run_until(keeper(home, tmp_path, days=0.0), lambda: not names(tmp_path))


async def test_an_archive_that_cannot_be_changed_now_is_changed_later(
    home: Home, tmp_path: Path
) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    folder = tmp_path / "archive"
    await keeper(home, folder).archive()
    await home.eraser().delete(KEY)
    folder.rename(tmp_path / "elsewhere")
    folder.touch()
    with pytest.raises(StoreUnwritable):
        await home.eraser().erase_archived(Archives(folder))
    folder.unlink()
    (tmp_path / "elsewhere").rename(folder)
    await home.eraser().erase_archived(Archives(folder))
    assert names(folder) == []
