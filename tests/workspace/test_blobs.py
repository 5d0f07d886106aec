"""Blobs: content kept once, whole or not at all, readable by nobody else."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import BlobMissing, StoreUnwritable
from nanobot.workspace.blobs import Blobs


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_what_was_written_is_read_by_its_digest(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    digest = await blobs.write(b"a picture")
    assert digest == hashlib.sha256(b"a picture").hexdigest()
    assert await blobs.read(digest) == b"a picture"
    (file,) = files(tmp_path)
    assert file == tmp_path / "blobs" / digest[:2] / digest


async def test_the_same_content_is_kept_once(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    assert await blobs.write(b"twice") == await blobs.write(b"twice")
    assert len(files(tmp_path)) == 1


async def test_nobody_else_may_read_them(tmp_path: Path) -> None:
    await Blobs(tmp_path / "blobs").write(b"secret")
    (file,) = files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


async def test_a_damaged_blob_is_said_to_be_and_mended_when_it_comes_again(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = await blobs.write(b"whole")
    files(tmp_path)[0].write_bytes(b"who")
    with pytest.raises(BlobMissing, match="damaged"):
        await blobs.read(digest)
    await blobs.write(b"whole")
    assert await blobs.read(digest) == b"whole"


@pytest.mark.parametrize("digest", ["", "../state.db", "ab" * 32, "AB" * 32, "a" * 63, "\n"])
async def test_what_is_not_here_is_missing_whatever_it_is_called(
    tmp_path: Path, digest: str
) -> None:
    (tmp_path / "state.db").write_bytes(b"not for reading")
    with pytest.raises(BlobMissing):
        await Blobs(tmp_path / "blobs").read(digest)


async def test_what_is_removed_is_gone_and_removing_it_again_does_nothing(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = await blobs.write(b"old")
    assert await blobs.remove([digest, digest]) == 1
    with pytest.raises(BlobMissing):
        await blobs.read(digest)


async def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    with pytest.raises(StoreUnwritable, match="blobs"):
        await Blobs(tmp_path / "blobs").write(b"x")


@settings(max_examples=30)
@given(st.binary(max_size=4_000))
async def test_any_content_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    blobs = Blobs(tmp_path_factory.mktemp("blobs"))
    assert await blobs.read(await blobs.write(data)) == data
