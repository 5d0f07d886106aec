"""Received files: what they are decides their content, and no name leads out of the workspace."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nanobot.errors import ModelUnreachable
from nanobot.messages import Attachment
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.placed_files import PlacedFiles, safe_name
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received
from tests.pictures import jpeg, png
from tests.sampling import examples

AT = 1_800_000_000.0
DAY = "received/2027-01-15"


class Home:
    """A workspace with blobs beside it."""

    def __init__(self, folder: Path, transcriber: Heard | None = None) -> None:
        self.workspace = folder / "workspace"
        self.blobs = Blobs(folder / "blobs")
        self.received = Received(
            self.blobs, PlacedFiles(ConfinedFiles(self.workspace)), transcriber
        )

    async def keep(
        self, content: bytes, kind: str = "document", *, name: str = "", mime: str = ""
    ) -> Attachment:
        attachment = Attachment(kind, ref="r", name=name, mime=mime)
        return await self.received.keep(attachment, content, AT)

    def files(self) -> dict[str, bytes]:
        paths = (path for path in self.workspace.rglob("*") if path.is_file())
        return {path.relative_to(self.workspace).as_posix(): path.read_bytes() for path in paths}


class Heard:
    """A transcriber that says so, or fails."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.asked: list[tuple[bytes, str]] = []
        self._failure = failure

    async def transcribe(self, audio: bytes, name: str) -> str:
        self.asked.append((audio, name))
        if self._failure is not None:
            raise self._failure
        return " good morning \n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_a_document_is_a_blob_and_a_file_of_the_workspace(home: Home) -> None:
    kept = await home.keep(b"%PDF-1.7 ...", name="report.pdf", mime="application/pdf")
    assert kept.path == f"{DAY}/report.pdf"
    assert home.files() == {kept.path: b"%PDF-1.7 ..."}
    assert await home.blobs.read(kept.blob) == b"%PDF-1.7 ..."
    assert (kept.kind, kept.size, kept.error) == ("document", 12, "")
    assert not kept.coming


async def test_without_files_of_a_plugin_it_is_a_blob_alone(tmp_path: Path) -> None:
    received = Received(Blobs(tmp_path / "blobs"))
    for outside in (False, True):
        sent = Attachment("image", ref="r", name="a.png")
        kept = await received.keep(sent, png(), AT, outside=outside)
        assert (kept.kind, kept.path, kept.error) == ("image", "", "")
        assert await received.blobs.read(kept.blob) == png()


async def test_without_labels_no_content_from_outside_is_put_into_the_workspace(home: Home) -> None:
    sent = Attachment("image", ref="r", name="a.png")
    kept = await home.received.keep(sent, png(), AT, outside=True)
    assert (kept.kind, kept.path, kept.error) == ("image", "", "")
    assert await home.blobs.read(kept.blob) == png()
    assert home.files() == {}


async def test_what_the_platform_calls_an_image_is_one_by_its_bytes(home: Home) -> None:
    kept = await home.keep(jpeg(), "image", mime="image/png")
    assert (kept.kind, kept.mime, kept.path) == ("image", "image/jpeg", f"{DAY}/image.jpg")


@pytest.mark.parametrize("content", [b"<script>alert(1)</script>", b"PK\x03\x04", b""])
async def test_what_is_only_named_like_an_image_is_a_document(home: Home, content: bytes) -> None:
    kept = await home.keep(content, "image", name="cat.jpg", mime="image/jpeg")
    assert (kept.kind, kept.path) == ("document", f"{DAY}/cat.jpg")


async def test_a_picture_that_is_sent_as_a_file_is_seen(home: Home) -> None:
    assert (await home.keep(png(), "document", name="scan.png")).kind == "image"


async def test_a_picture_too_large_for_models_stays_a_file_and_says_so(home: Home) -> None:
    kept = await home.keep(png(9_000, 10), "image", name="panorama.png")
    assert kept.path == f"{DAY}/panorama.png"
    assert "9000 x 10 pixels" in kept.error
    kept = await home.keep(png(padding=6_000_000), "image", name="heavy.png")
    assert "6.0 MB" in kept.error


async def test_the_same_file_again_is_kept_once(home: Home) -> None:
    first, again = [await home.keep(b"x", name="a.txt") for _ in range(2)]
    assert first.path == again.path
    assert len(home.files()) == 1


async def test_another_file_of_that_name_gets_another_and_none_is_overwritten(home: Home) -> None:
    (home.workspace / DAY).mkdir(parents=True)
    (home.workspace / DAY / "a.txt").write_text("by hand")
    paths = [(await home.keep(content, name="a.txt")).path for content in (b"1", b"2", b"by hand")]
    assert paths == [f"{DAY}/a-2.txt", f"{DAY}/a-3.txt", f"{DAY}/a.txt"]


async def test_the_thousandth_file_of_one_name_on_a_day_is_kept_like_the_first(home: Home) -> None:
    (home.workspace / DAY).mkdir(parents=True)
    for number in range(1_000):
        name = f"photo-{number}.jpg" if number > 1 else "photo.jpg"
        (home.workspace / DAY / name).write_bytes(png(padding=number))
    kept = [await home.keep(png(padding=2_000 + n), "image", name="photo.jpg") for n in (1, 2, 1)]
    assert [file.error for file in kept] == ["", "", ""]
    assert len({file.path for file in kept}) == 2
    assert kept[0].path == kept[2].path == f"{DAY}/photo-{kept[0].blob[:16]}.jpg"
    assert (home.workspace / kept[1].path).read_bytes() == png(padding=2_002)


async def test_no_link_leads_out_of_the_workspace(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (home.workspace / "received").symlink_to(outside)
    kept = await home.keep(b"x", name="a.txt")
    assert list(outside.iterdir()) == []
    assert "workspace" in kept.error
    assert await home.blobs.read(kept.blob) == b"x"


async def test_a_file_in_the_way_is_said_and_the_content_is_kept(home: Home) -> None:
    (home.workspace / "received").write_text("not a folder")
    kept = await home.keep(png(), "image", name="a.png")
    assert kept.blob
    assert "could not be put into the workspace" in kept.error


async def test_a_store_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "blobs").write_text("not a folder")
    kept = await home.keep(b"x", name="a.txt")
    assert (kept.blob, kept.path) == ("", "")
    assert "cannot be kept" in kept.error


async def test_a_recording_is_written_down(tmp_path: Path) -> None:
    heard = Heard()
    kept = await Home(tmp_path, heard).keep(b"OggS", "audio", mime="audio/ogg")
    assert heard.asked == [(b"OggS", "audio.ogg")]
    assert (kept.text, kept.error, kept.path) == ("good morning", "", f"{DAY}/audio.ogg")


async def test_nobody_listens_to_a_document(tmp_path: Path) -> None:
    heard = Heard()
    await Home(tmp_path, heard).keep(b"OggS", "document", name="song.ogg")
    assert heard.asked == []


async def test_a_recording_that_is_not_understood_stays_a_file(tmp_path: Path) -> None:
    home = Home(tmp_path, Heard(ModelUnreachable("openai cannot be reached")))
    kept = await home.keep(b"OggS", "audio", name="note.ogg")
    assert kept.error == "it was not transcribed: openai cannot be reached"
    assert kept.path == f"{DAY}/note.ogg"


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("..", "document"),
        (".", "document"),
        ("", "document"),
        (".bashrc", "bashrc"),
        (" . . ", "document"),
        ("a\x00b\nc\x1b[31m.txt", "ab c[31m.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("a\u200bb.txt", "ab.txt"),
        ("\ud800x.txt", "x.txt"),
        ("-rf", "rf"),
        ("~root", "root"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("NUL.tar.gz", "_NUL.tar.gz"),
        ("aux .txt", "_aux.txt"),
        ('a<b>:"|?*.txt', "a_b______.txt"),
        ("name.", "name"),
        ("Übersicht März.pdf", "Übersicht März.pdf"),
        ("日本語.txt", "日本語.txt"),
        ("archive.tar.gz", "archive.tar.gz"),
    ],
)
def test_a_name_is_nothing_but_a_name(name: str, safe: str) -> None:
    assert safe_name(name, "document", "") == safe


def test_a_name_without_an_ending_gets_that_of_its_kind() -> None:
    assert safe_name("", "image", "image/jpeg") == "image.jpg"
    assert safe_name("voice", "audio", "audio/ogg") == "voice.ogg"
    assert safe_name("", "document", "application/pdf") == "document.pdf"
    assert safe_name("", "document", "no/such") == "document"


def test_a_long_name_is_cut_and_keeps_its_ending() -> None:
    safe = safe_name("ü" * 500 + ".pdf", "document", "")
    assert safe.endswith("ü.pdf")
    assert len(safe.encode()) <= 120


@settings(max_examples=examples(300))
@given(st.text(max_size=300), st.sampled_from(["", "image/jpeg", "a/b", "../x"]))
@example("con", "image/jpeg")
@example("." * 300, "")
def test_whatever_the_name_it_stays_in_its_folder(name: str, mime: str) -> None:
    safe = safe_name(name, "document", mime)
    assert safe
    assert not set(safe) & set('/\\\0<>:"|?*')
    assert safe[0] not in "-~. "
    assert safe[-1] not in ". "
    assert all(unicodedata.category(c)[0] != "C" for c in safe)
    assert len(safe.encode()) <= 200
