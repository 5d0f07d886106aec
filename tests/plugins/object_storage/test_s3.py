"""Blobs in an S3-compatible store, against a real server of that protocol on loopback."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from nanobot.errors import BlobMissing, StoreError, StoreUnwritable
from nanobot.plugins.object_storage.s3 import ObjectBlobs

URL = "s3://files/nanobot"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The environment says where the store is, and who we are."""
    serving = import_module("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    serving.start()
    host, port = serving.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    import_module("s3fs").S3FileSystem.clear_instance_cache()
    import_module("s3fs").S3FileSystem().makedirs("files", exist_ok=True)
    yield serving
    serving.stop()
    import_module("s3fs").S3FileSystem.clear_instance_cache()


@pytest.mark.process
async def test_what_one_process_keeps_another_reads_and_removes(server: Any) -> None:
    first, other = ObjectBlobs(URL), ObjectBlobs(URL)
    digest = await first.write(b"a picture")
    assert digest == hashlib.sha256(b"a picture").hexdigest()
    assert await first.write(b"a picture") == digest
    assert await other.read(digest) == b"a picture"
    large = bytes(range(256)) * 40_000
    assert await other.read(await first.write(large)) == large
    unknown = "0" * 64
    assert await other.remove([digest, unknown]) == 1
    with pytest.raises(BlobMissing, match="not here any more"):
        await first.read(digest)


@pytest.mark.process
async def test_a_damaged_file_is_missing_and_written_anew(server: Any) -> None:
    blobs = ObjectBlobs(URL)
    digest = await blobs.write(b"a picture")
    files = import_module("s3fs").S3FileSystem()
    files.pipe_file(f"files/nanobot/{digest[:2]}/{digest}", b"something else")
    with pytest.raises(BlobMissing, match="damaged"):
        await blobs.read(digest)
    await blobs.write(b"a picture")
    assert await blobs.read(digest) == b"a picture"


async def test_nothing_but_digests_are_names(server: Any) -> None:
    for name in ("../../other", "", "x" * 64):
        with pytest.raises(BlobMissing):
            await ObjectBlobs(URL).read(name)


async def test_a_store_that_refuses_is_told(server: Any) -> None:
    with pytest.raises(StoreUnwritable, match="cannot be kept in s3://nowhere"):
        await ObjectBlobs("s3://nowhere/x").write(b"a picture")


@pytest.mark.process  # the client of S3 tries for ten seconds
async def test_a_store_that_is_away_is_told(server: Any) -> None:
    blobs = ObjectBlobs(URL)
    digest = await blobs.write(b"a picture")
    server.stop()
    with pytest.raises(StoreError, match="cannot be read now"):
        await blobs.read(digest)
