"""Old entries go into files and out of the store; the log says so, and its chain holds."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from nanobot.errors import StoreUnwritable
from nanobot.session import entries as log_entries
from nanobot.session.entries import ErasedEntry
from nanobot.store.repositories import retention
from nanobot.store.repositories.retention import ArchivedEntry, Retention
from nanobot.store.unit import StoreContext
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, begun, claim, said

DAY = 86_400.0


def keeper(home: Home, folder: Path, days: float = 30.0) -> Retention:
    writer = StoreContext(home.clock, home.ids, "us", 600.0 if home.shared else None)
    return Retention(home.database, writer, home.eraser(), days, folder)


def lines(folder: Path, name: str = "telegram%3A7.jsonl") -> list[ArchivedEntry]:
    data = (folder / name).read_bytes().splitlines()
    return [msgspec.json.decode(line, type=ArchivedEntry) for line in data]


async def grown(home: Home, first: int = 0, last: int = 3) -> None:
    for number in range(first, last):
        claimed = await begun(home.journal(), f"r{number}")
        await answered(home.journal(), claimed, f"secret {number}")


def chained(archive: list[ArchivedEntry]) -> bytes:
    """The chain over an archive that begins with the log."""
    chain = log_entries.GENESIS
    for entry in archive:
        payload, salt = base64.b64decode(entry.payload), base64.b64decode(entry.salt)
        digest = base64.b64decode(entry.digest)
        assert log_entries.payload_digest(salt, payload) == digest
        link = log_entries.ChainLink(
            session_key=entry.session_key,
            seq=entry.seq,
            run_id=entry.run_id,
            kind=entry.kind,
            at=entry.at,
            digest=digest,
        )
        chain = log_entries.link_hash(chain, link)
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
    file = tmp_path / "telegram%3A7.jsonl"
    retention.append_to(file, part.entries)
    with file.open("ab") as archive:
        archive.write(b'{"session_key":"telegram:7","seq":5,"run')
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
        retention.append_to(taken / "x.jsonl", ())


async def test_without_days_everything_stays(home: Home, tmp_path: Path) -> None:
    await grown(home)
    home.clock.advance(4_000 * DAY)
    await keeper(home, tmp_path, days=0.0).run()
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
    await home.records().delete(KEY)
    await grown(home, 3, 5)
    home.clock.advance(31 * DAY)
    again = await keeper(home, tmp_path).archive()
    archive = lines(tmp_path)
    assert 0 < again < count
    assert [entry.seq for entry in archive] == [*range(1, count + 1), *range(1, again + 1)]
    chained(archive[:count])
    chained(archive[count:])
