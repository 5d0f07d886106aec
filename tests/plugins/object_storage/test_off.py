"""Files in an object store while its plugin is off: what would keep files says so, and nothing is
lost. Packages bring other storages by the same field."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from nanobot.app import blob_storage
from nanobot.app.blob_storage import blobs_of
from nanobot.config.loader import Config, load
from nanobot.errors import BlobMissing, ConfigError, StoreError, StoreUnwritable
from nanobot.plugins.object_storage.s3 import ObjectBlobs
from nanobot.seam.installed import installed
from nanobot.workspace.blobs import Blobs, digest_of
from tests.cli.running import environ_of, run
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

URL = 'blobs = "s3://bucket/prefix"\n'
OFF = '[plugins]\noff = ["object_storage"]\n'
REFUSAL = (
    "blobs needs the plugin object_storage. It is switched off: nanobot plugins on object_storage"
)
SHELF = """
import asyncio

from nanobot.seam.plugin import Plugin


class Shelf:
    def __init__(self, url):
        self.url = url

    async def write(self, content):
        DOES

    read = remove = write


PLUGIN = Plugin(name="shelf", summary="A storage.", blobs={"shelf": STORAGE})
"""


def configured(folder: Path, settings: str) -> Config:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(settings)
    return load(environ_of(home))


def test_the_url_of_an_object_store_opens_it_and_a_folder_needs_no_plugin(tmp_path: Path) -> None:
    assert isinstance(blobs_of(configured(tmp_path, URL)), ObjectBlobs)
    for settings in (OFF, f'blobs = "files"\n{OFF}'):
        assert type(blobs_of(configured(tmp_path, settings))) is Blobs


@pytest.mark.process
async def test_every_command_that_may_keep_files_names_the_plugin_and_the_way_back(
    tmp_path: Path,
) -> None:
    config = configured(tmp_path, f"{URL}{OFF}")
    environ = environ_of(config.home)
    for words in (["gateway"], ["status"], ["agent", "-m", "hello"]):
        refused = await run(environ, *words)
        assert (refused.code, refused.out) == (ConfigError.exit_code, ""), words
        assert refused.err.strip().splitlines()[-1].endswith(REFUSAL), words
    doctor = await run(environ, "doctor", "--json")
    broken = [each["text"] for each in json.loads(doctor.out) if each["level"] == "broken"]
    assert any(each.endswith(REFUSAL) for each in broken)
    assert not (config.home / "blobs").exists()
    listed = json.loads((await run(environ, "plugins", "list", "--json")).out)
    (plugin,) = [each for each in listed if each["name"] == "object_storage"]
    assert (plugin["state"], plugin["brings"]) == ("off", ["storages of files"])
    on = await run(environ, "plugins", "on", "object_storage")
    assert on.code == 0, on.err
    assert (await run(environ, "status")).code == 0
    assert "s3://bucket/prefix" in (config.home / "config.toml").read_text()


@pytest.mark.parametrize("url", ["gs://bucket/x", "s3://", "s3:///x"])
def test_what_no_plugin_brings_is_no_storage(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="blobs"):
        configured(tmp_path, f'blobs = "{url}"\n')


def shelf(site: Site, tmp_path: Path, does: str = "pass", storage: str = "Shelf") -> Config:
    site.bring("shelf", SHELF.replace("DOES", does).replace("STORAGE", storage))
    return configured(tmp_path, 'blobs = "shelf://top/left"\n')


class Kept(dict[str, bytes]):
    """What a package keeps."""

    async def write(self, content: bytes) -> str:
        self[digest_of(content)] = content
        return digest_of(content)

    async def read(self, digest: str) -> bytes:
        return self[digest]

    async def remove(self, digests: Iterable[str]) -> int:
        return sum(self.pop(digest, None) is not None for digest in digests)


async def test_a_package_brings_a_storage_by_what_its_url_begins_with(
    site: Site, tmp_path: Path
) -> None:
    config = shelf(site, tmp_path, storage=f'"{__name__}:opened"')
    blobs = blobs_of(config)
    digest = await blobs.write(b"a picture")
    assert await blobs.read(digest) == b"a picture"
    KEPT[digest] = b"another"
    with pytest.raises(BlobMissing, match="damaged"):
        await blobs.read(digest)
    with pytest.raises(BlobMissing, match="not the digest"):
        await blobs.read("../other")
    assert await blobs.remove([digest]) == 1


KEPT = Kept()


def opened(url: str) -> Kept:
    assert url == "shelf://top/left"
    return KEPT


@pytest.mark.parametrize(
    "storage", ['"nowhere.at_all:Shelf"', "lambda url: 1 / 0", "lambda url: 5"]
)
def test_a_storage_that_cannot_be_opened_is_the_plugins_failure(
    storage: str, site: Site, tmp_path: Path
) -> None:
    config = shelf(site, tmp_path, storage=storage)
    with pytest.raises(ConfigError, match="the plugin shelf cannot open shelf://top/left"):
        blobs_of(config)
    assert "blobs" in {each.name: each.why for each in installed().left_out}["shelf"]


WAYS = ["raise ZeroDivisionError('down')", "return None", "return 'x'", "await asyncio.sleep(99)"]


@pytest.mark.parametrize("does", WAYS)
async def test_what_a_storage_does_later_is_an_error_of_the_store(
    does: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_storage, "STORAGE_SECONDS", 0.1)
    blobs = blobs_of(shelf(site, tmp_path, does))
    async with asyncio.timeout(20):
        with pytest.raises(StoreUnwritable, match="shelf"):
            await blobs.write(b"a picture")
        with pytest.raises(StoreError, match="shelf"):
            await blobs.read(digest_of(b"a picture"))
        with pytest.raises(StoreError, match="shelf"):
            await blobs.remove([digest_of(b"a picture")])
