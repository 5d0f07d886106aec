"""Files go with the last session that names them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.errors import BlobMissing
from nanobot.messages import Attachment
from nanobot.workspace.blobs import Blobs
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, claim, let_in, said

OTHER = "telegram:8"


async def bring(home: Home, session_key: str, *digests: str) -> None:
    """A message with these files, answered."""
    journal = home.journal()
    files = tuple(Attachment("document", name="a", blob=digest) for digest in digests)
    message = msgspec.structs.replace(said(f"for {session_key}"), attachments=files)
    await admit(journal, let_in(message, session_key))
    await answered(journal, await claim(journal, f"run {session_key}", session_key), "thanks")


async def test_files_go_with_the_last_session_that_names_them(home: Home, tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    own, shared = await blobs.write(b"own"), await blobs.write(b"shared")
    await bring(home, KEY, own, shared)
    await bring(home, OTHER, shared)
    eraser = home.eraser(blobs)
    await eraser.delete(KEY)
    assert await blobs.read(shared) == b"shared"
    with pytest.raises(BlobMissing):
        await blobs.read(own)
    await eraser.delete(OTHER)
    with pytest.raises(BlobMissing):
        await blobs.read(shared)


async def test_a_file_that_still_waits_elsewhere_stays(home: Home, tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = await blobs.write(b"both")
    await bring(home, KEY, digest)
    file = (Attachment("image", blob=digest),)
    waiting = msgspec.structs.replace(said("waits"), attachments=file)
    await admit(home.journal(), let_in(waiting, OTHER))
    await home.eraser(blobs).delete(KEY)
    assert await blobs.read(digest) == b"both"
