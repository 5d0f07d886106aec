"""What cannot be erased or archived holds up nothing else, is named, and is tried again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.errors import StoreError
from nanobot.plugins.common.store import erasures
from nanobot.plugins.erasure.archives import Archives
from nanobot.plugins.erasure.store import session_removal
from nanobot.store.unit import Unit
from nanobot.troubles import TROUBLES
from nanobot.workspace.blobs import Blobs
from tests.plugins.erasure.test_retention import DAY, grown, keeper, lines
from tests.store.home import Home, on_sqlite
from tests.store.making import KEY, admit, answered, begun, claim, said

ODD = [
    "",
    "no digest",
    "../../etc/passwd",
    "\ufffd\u0000",
    "9" * 5_000,
    "[1,2",
    '["telegram:7",-1]',
    '["cracked","telegram:7"]',
]
KINDS = (
    erasures.SESSION,
    erasures.QUOTES,
    erasures.BLOB,
    erasures.WORDS,
    erasures.LOG_WORDS,
    erasures.LOGGED,
    erasures.ARCHIVED,
    erasures.PLUGIN,
    "a kind of the future",
)


async def noted(home: Home, kind: str, *names: str) -> None:
    rows = [{"kind": kind, "name": name} for name in names]
    await home.do(lambda c: c.execute(sa.insert(erasures.erasures), rows))


async def blocked(blobs: Path, content: bytes) -> str:
    """A file that cannot be removed, also by root: a folder is in its place."""
    digest = await Blobs(blobs).write(content)
    path = blobs / digest[:2] / digest
    path.unlink()
    (path / "inner").mkdir(parents=True)
    return digest


async def test_a_file_that_cannot_be_removed_keeps_no_other_one(
    new_home: Home, tmp_path: Path
) -> None:
    folder = tmp_path / "blobs"
    stuck, gone = await blocked(folder, b"stuck"), await Blobs(folder).write(b"gone")
    await noted(new_home, erasures.BLOB, stuck, gone)
    eraser = new_home.eraser(Blobs(folder))
    with pytest.raises(StoreError, match=r"erasing the file .* failed .*tried again every minute"):
        await eraser.finish()
    assert not (folder / gone[:2] / gone).exists()
    assert await new_home.column("SELECT name FROM erasures") == [stuck]
    assert any(stuck[:12] in each.what for each in TROUBLES.recent())
    await eraser.finish()  # said once; another deletion is not told of it
    (folder / stuck[:2] / stuck / "inner").rmdir()
    (folder / stuck[:2] / stuck).rmdir()
    await eraser.finish()
    assert await new_home.column("SELECT name FROM erasures") == []
    assert not any(stuck[:12] in each.what for each in TROUBLES.recent())


@on_sqlite
@pytest.mark.parametrize("kind", KINDS)
async def test_an_odd_name_among_what_is_to_be_erased_keeps_nothing(
    home: Home, kind: str, tmp_path: Path
) -> None:
    await noted(home, kind, *ODD)
    await answered(home.journal(), await begun(home.journal()), "hi")
    eraser = home.eraser(Blobs(tmp_path / "blobs"))
    with suppress(StoreError):
        await eraser.finish()
    await eraser.remove_rows()
    assert await eraser.delete(KEY) > 0
    assert await home.column("SELECT key FROM sessions") == []


async def test_the_eraser_survives_what_it_cannot_erase_and_tries_again(
    new_home: Home, tmp_path: Path
) -> None:
    stuck = await blocked(tmp_path / "blobs", b"stuck")
    await noted(new_home, erasures.BLOB, stuck, "no digest")
    running = asyncio.create_task(new_home.eraser(Blobs(tmp_path / "blobs")).run())
    async with asyncio.timeout(20):
        for _ in range(4):
            new_home.clock.advance(61.0)
            await asyncio.sleep(0.05)
        assert not running.done()
        (tmp_path / "blobs" / stuck[:2] / stuck / "inner").rmdir()
        (tmp_path / "blobs" / stuck[:2] / stuck).rmdir()
        while stuck in await new_home.column("SELECT name FROM erasures"):
            new_home.clock.advance(61.0)
            await asyncio.sleep(0.02)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@on_sqlite
@pytest.mark.parametrize("at", ["first", "last"])
async def test_a_damaged_line_of_an_archive_hides_nothing_that_is_to_be_erased(
    home: Home, tmp_path: Path, at: str
) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    await keeper(home, tmp_path).archive()
    file = tmp_path / "telegram%3A7.jsonl"
    there = lines(tmp_path)
    written = file.read_bytes().splitlines(keepends=True)
    number = 0 if at == "first" else len(written) - 1
    damaged = there[number].seq
    spot = written[number].index(b'"payload":"') + 15
    written[number] = written[number][:spot] + b"\xff" + written[number][spot + 1 :]
    file.write_bytes(b"".join(written))
    other = there[1].seq
    await Archives(tmp_path).erase(KEY, {other})
    left = file.read_bytes().splitlines()
    assert len(left) == len(written)  # the damaged line stays: nobody wants it gone
    await Archives(tmp_path).erase(KEY, {damaged})
    assert len(file.read_bytes().splitlines()) == len(written) - 1
    entries = lines(tmp_path)
    assert [each.payload == "" for each in entries if each.seq == other] == [True]


async def test_entries_are_archived_behind_a_damaged_line(home: Home, tmp_path: Path) -> None:
    await grown(home)
    home.clock.advance(31 * DAY)
    await keeper(home, tmp_path).archive()
    file = tmp_path / "telegram%3A7.jsonl"
    data = bytearray(file.read_bytes())
    data[-20] = 0xFF
    file.write_bytes(bytes(data))
    before = len(data.splitlines())
    await admit(home.journal(), said("another"))
    await answered(home.journal(), await claim(home.journal(), "r9"), "yes")
    home.clock.advance(31 * DAY)
    await keeper(home, tmp_path).archive()
    after = file.read_bytes().splitlines()
    assert len(after) > before
    assert msgspec.json.decode(after[-1])["session_key"] == KEY


async def test_what_arrives_during_a_removal_goes_with_the_next_one(home: Home) -> None:
    eraser, journal = home.eraser(), home.journal()
    await answered(journal, await begun(journal), "done")
    writer = eraser.writer
    with writer.held.taking() as hold:
        await home.do(lambda c: session_removal.begin_session(Unit(c, writer), hold, KEY))
        lane = await home.do(lambda c: session_removal.resume_session(Unit(c, writer), hold, KEY))
        place: session_removal.Place | None = session_removal.Place()
        while place is not None:
            remove = partial(session_removal.session_slice, key=KEY, place=place)
            place = await home.do(remove)
        await admit(journal, said("a later secret", key="later"))
        with writer.held.taking() as other:
            await home.do(lambda c: session_removal.begin_session(Unit(c, writer), other, KEY))
        assert lane is not None
        assert not await home.do(lambda c: session_removal.end_session(Unit(c, writer), lane))
    await eraser.finish()
    assert await home.column("SELECT key FROM sessions") == []
    bodies = await home.column("SELECT body FROM inbound")
    assert len(bodies) == 2
    assert not any(b"secret" in bytes(body) for body in bodies)
