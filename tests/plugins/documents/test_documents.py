"""Documents as read_file shows them, and what hostile ones come to."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import ToolError
from nanobot.plugins.common.files import document_worker as parsing
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.document_reading import read_document
from nanobot.plugins.common.files.file_readers import FileReaders, installed_readers
from nanobot.plugins.common.files.parse_job import ParseJob
from nanobot.plugins.common.files.pictures import described
from nanobot.plugins.common.files.worker import PLACES, working
from nanobot.plugins.documents import parsers
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.seam.plugin import FileReader
from nanobot.system import Installation
from nanobot.tools.registry import ToolRegistry
from tests.doubles.web_server import pdf
from tests.sampling import examples
from tests.tools.browsing import CALL

_WORKER = "nanobot.plugins.common.files.document_worker"
PAGE = ParseJob(read="nanobot.plugins.web_tools.readable:read")


class Desk:
    """A workspace and its tools."""

    def __init__(self, folder: Path, readers: FileReaders | None = None) -> None:
        self.folder = folder
        self.registry = ToolRegistry()
        for tool in file_tools(ConfinedFiles(folder), readers=readers):
            self.registry.register(tool)

    def put(self, name: str, data: bytes) -> str:
        (self.folder / name).write_bytes(data)
        return name

    async def read(self, path: str, **more: object) -> str:
        return await self.registry.execute("read_file", json.dumps({"path": path, **more}), CALL)

    async def refused(self, path: str, **more: object) -> str:
        with pytest.raises(ToolError) as caught:
            await self.read(path, **more)
        return str(caught.value)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "workspace")


def saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def word(*paragraphs: str) -> bytes:
    document: Any = import_module("docx").Document()
    document.add_heading("The plan", 1)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    return saved(document)


def excel() -> bytes:
    book: Any = import_module("openpyxl").Workbook()
    book.active.append(["name", "count", None, None])
    book.active.append(["owl", 3, None, 2.5])
    book.active["A9"] = "far below"
    book.create_sheet("second").append(["x"])
    return saved(book)


def slides() -> bytes:
    show: Any = import_module("pptx").Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Owls"
    slide.placeholders[1].text = "hunt at night"
    slide.notes_slide.notes_text_frame.text = "smile"
    return saved(show)


async def test_a_pdf_is_paged_by_its_pages(desk: Desk) -> None:
    desk.put("a.pdf", pdf(*(f"Words of page {n}" for n in range(1, 6)), title="Paper"))
    text = await desk.read("a.pdf", offset=2, limit=2)
    assert text == (
        "Title: Paper\n\n--- page 2 of 5 ---\nWords of page 2\n\n--- page 3 of 5 ---\n"
        "Words of page 3\n\n[pages 2 to 3; the rest begins at offset=4]"
    )
    assert (await desk.read("a.pdf", offset=5)).endswith("Words of page 5")
    assert "page 6 is past the end: the PDF has 5 pages" in await desk.refused("a.pdf", offset=6)


async def test_pages_that_do_not_fit_wait_for_the_next_call(desk: Desk) -> None:
    desk.put("a.pdf", pdf("a" * 6_000, "b" * 6_000, "c" * 20_000))
    assert "pages 1 to 1; the rest begins at offset=2" in await desk.read("a.pdf")
    assert "page 3 is cut: it has" in await desk.read("a.pdf", offset=3)


async def test_a_pdf_of_pictures_says_so(desk: Desk) -> None:
    desk.put("scan.pdf", pdf("", ""))
    assert "no text in these pages: they are pictures" in await desk.read("scan.pdf")


async def test_an_encrypted_pdf_asks_for_its_password(desk: Desk) -> None:
    library: Any = import_module("pypdf")
    writer = library.PdfWriter(clone_from=io.BytesIO(pdf("secret")))
    writer.encrypt("pass", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    desk.put("locked.pdf", file.getvalue())
    assert '"locked.pdf": the PDF is encrypted' in await desk.refused("locked.pdf")


async def test_word_excel_and_powerpoint_are_read_as_text(desk: Desk) -> None:
    desk.put("plan.docx", word("First we sleep.", "Then we hunt."))
    assert await desk.read("plan.docx") == (
        "# The plan\nFirst we sleep.\nThen we hunt.\nleft | right"
    )
    desk.put("count.xlsx", excel())
    assert await desk.read("count.xlsx") == (
        "--- sheet Sheet ---\nname\tcount\nowl\t3\t\t2.5\nfar below\n--- sheet second ---\nx"
    )
    desk.put("show.pptx", slides())
    assert await desk.read("show.pptx") == "--- slide 1 ---\nOwls\nhunt at night\nnote: smile"


async def test_long_documents_are_paged_by_lines(desk: Desk) -> None:
    desk.put("long.docx", word(*(f"paragraph {n} {'x' * 90}" for n in range(2, 300))))
    seen: list[str] = []
    offset = 1
    while offset:
        body, _, note = (await desk.read("long.docx", offset=offset)).rpartition("\n\n[")
        seen += (body or note).split("\n")
        offset = int(note.partition("offset=")[2].rstrip("]") or 0)
    assert seen[1:-1] == [f"paragraph {n} {'x' * 90}" for n in range(2, 300)]
    assert "past the end: the document has 300 lines" in await desk.refused(
        "long.docx", offset=9_999
    )


def archive(**members: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, size in members.items():
            zipped.writestr(f"word/{name}", b"\0" * size)
    return file.getvalue()


async def test_an_archive_that_unpacks_to_too_much_is_refused_unopened(desk: Desk) -> None:
    desk.put("bomb.docx", archive(document=300_000_000))
    assert "it would unpack to 300,000,000 bytes in 1 parts" in await desk.refused("bomb.docx")


async def test_an_archive_that_lies_about_its_sizes_gains_nothing(desk: Desk) -> None:
    data = bytearray(archive(document=50_000_000))
    for at in (data.find(b"PK\x03\x04") + 22, data.find(b"PK\x01\x02") + 24):
        data[at : at + 4] = struct.pack("<I", 10)
    desk.put("liar.docx", bytes(data))
    assert "it is broken" in await desk.refused("liar.docx")


async def test_entities_that_multiply_are_not_followed(desk: Desk) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    xml = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{laughs}]><x>&l9;</x>'
    good = io.BytesIO(word("fine"))
    evil = io.BytesIO()
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(evil, "w") as new:
        for name in old.namelist():
            new.writestr(name, xml if name == "word/document.xml" else old.read(name))
    desk.put("laughs.docx", evil.getvalue())
    assert "laughs.docx" in await desk.refused("laughs.docx")


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4", b"PK\x03\x04word/", b"PK\x03\x04xl/" * 99, b"%PDF-1.7\n" + b"[" * 99_999]
)
async def test_broken_documents_are_clear_errors(desk: Desk, data: bytes) -> None:
    assert "it is broken, or not of the kind it seems" in await desk.refused(desk.put("x", data))


@pytest.mark.parametrize(("kind", "missing"), [("docx", "docx"), ("xlsx", "openpyxl")])
def test_without_the_extra_the_remedy_is_named(
    kind: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ToolError, match=re.escape(Installation().adding("documents"))):
        parsing.read(ParseJob(read=f"nanobot.plugins.documents.parsers:{kind}"), io.BytesIO())


async def test_a_huge_document_is_not_even_begun(desk: Desk) -> None:
    with (desk.folder / "huge.pdf").open("wb") as file:
        file.write(b"%PDF-1.4")
        file.truncate(1 << 30)
    assert "documents of up to" in await desk.refused("huge.pdf")


async def test_a_document_that_takes_for_ever_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"<p " + b" ".join(b"a%d=1" % n for n in range(300_000)) + b">")
    with (tmp_path / "page").open("rb") as file, pytest.raises(ToolError, match=r"over 0\.5 s"):
        await read_document(PAGE, file, 0.5)


async def test_the_reading_process_sees_no_variable_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, json, sys\n"
        "if 'nanobot.plugins.common.files.document_worker' in ' '.join(sys.orig_argv):\n"
        "    print(json.dumps({'text': ' '.join(os.environ)}), flush=True)\n"
        "    os._exit(0)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with (tmp_path / "sitecustomize.py").open("rb") as file:
        reading = await read_document(PAGE, file)
    assert "PYTHONPATH" in reading.text
    assert "OPENAI_API_KEY" not in reading.text


@pytest.mark.parametrize(
    ("read", "library"),
    [
        ("web_tools.readable:read", "trafilatura"),
        *((f"documents.parsers:{kind}", name) for kind, (name,) in parsers.LIBRARIES.items()),
    ],
)
def test_what_reading_takes_is_compiled_once(tmp_path: Path, read: str, library: str) -> None:
    """Nobody else imports it, and uv compiles nothing."""
    job = msgspec.json.encode(ParseJob(read=f"nanobot.plugins.{read}")).decode()
    environ = os.environ | {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", _WORKER, job]
    subprocess.run(command, env=environ, input=b"", capture_output=True, check=False)
    assert [file for file in tmp_path.rglob(f"{library}/*.pyc") if file.stat().st_size]


def png(wide: int, high: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", wide, high)


def jpeg(wide: int, high: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 4_002) + b"x" * 4_000
    return b"\xff\xd8" + exif + b"\xff\xc0\0\x11\x08" + struct.pack(">HH", high, wide) + b"\0" * 9


@pytest.mark.parametrize(
    ("data", "described"),
    [
        (png(640, 480), "a PNG image, 640 x 480 pixels"),
        (jpeg(1920, 1080), "a JPEG image, 1920 x 1080 pixels"),
        (b"GIF89a" + struct.pack("<HH", 7, 9), "a GIF image, 7 x 9 pixels"),
        (
            b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0",
            "a WebP image, 800 x 600 pixels",
        ),
        (
            b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 320, 200),
            "a WebP image, 320 x 200 pixels",
        ),
        (
            b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 99 | 49 << 14) + b"\0" * 9,
            "a WebP image, 100 x 50 pixels",
        ),
        (png(1, 1)[:12], "a PNG image, of unknown extent"),
        (b"\xff\xd8\xff\xe0\xff\xff", "a JPEG image, of unknown extent"),
    ],
)
async def test_a_picture_is_told_by_format_and_extent(
    desk: Desk, data: bytes, described: str
) -> None:
    assert await desk.read(desk.put("x", data)) == f"[{described}, {len(data):,} bytes]"


@settings(max_examples=examples(300))
@given(
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF0000WEBP", b""]),
    st.binary(max_size=60),
)
def test_no_bytes_break_the_look_at_a_picture(magic: bytes, rest: bytes) -> None:
    data = magic + rest
    line = described(data, 1)
    assert line is None or line.endswith("1 bytes")


@settings(max_examples=examples(300))
@given(st.sampled_from([b"%PDF-", b"PK\x03\x04", b""]), st.binary(max_size=60))
def test_no_bytes_break_the_look_at_a_document(magic: bytes, rest: bytes) -> None:
    data = magic + rest
    found = installed_readers().of(data, "x")
    assert (found is not None and found.kind == "pdf") is data.startswith(b"%PDF-")


async def test_only_a_few_documents_are_read_at_once(tmp_path: Path) -> None:
    """Each of them waits for its document, which comes only once the fifth has had to wait."""
    reading, writing = os.pipe()
    began: list[int] = []
    full = asyncio.Event()

    async def work(number: int) -> None:
        async with working(_WORKER, PAGE, reading) as process:
            began.append(number)
            if len(began) == PLACES:
                full.set()
            await process.wait()

    async with asyncio.TaskGroup() as tasks:
        first = [tasks.create_task(work(number)) for number in range(PLACES)]
        fifth = tasks.create_task(work(PLACES))
        await full.wait()
        assert PLACES not in began
        os.close(writing)
        await asyncio.wait([*first, fifth])
    os.close(reading)
    assert began[-1] == PLACES


async def test_while_it_is_off_a_document_is_refused_by_the_name_of_the_plugin(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path / "workspace", FileReaders([], {"documents": installed_readers().on}))
    why = "files are read by the plugin documents, which is off here: `nanobot plugins list`"
    assert f'"a.pdf": PDF {why}' in await desk.refused(desk.put("a.pdf", pdf("x")))
    assert f'"a.docx": Word {why}' in await desk.refused(desk.put("a.docx", b"PK\x03\x04word/"))
    assert await desk.read(desk.put("plain.txt", b"words")) == "words"
    assert "a PNG image" in await desk.read(desk.put("x.png", png(640, 480)))
    (told,) = (spec.description for spec in desk.registry.specs() if spec.name == "read_file")
    assert "Read a text file. Long files" in told
    assert "PDF" not in told


async def test_the_tool_says_which_kinds_it_reads(desk: Desk) -> None:
    (told,) = (spec.description for spec in desk.registry.specs() if spec.name == "read_file")
    assert told == (
        "Read a text file, or the text of a PDF, Word, Excel or PowerPoint file. Long files come "
        "in pages; the last line says where the next page begins. offset and limit count lines, "
        "in a PDF its pages."
    )


async def test_a_plugin_of_a_package_reads_a_kind_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its function runs in the process without secrets, where the package is found."""
    (tmp_path / "songs.py").write_text(
        "from nanobot.plugins.common.files.parse_job import ParsedDocument\n"
        "def read(job, file):\n"
        "    return ParsedDocument(text=file.read().decode()[5:][::-1], title='A song')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    song = FileReader(kind="song", title="song", begins=b"SONG:", read="songs:read")
    desk = Desk(tmp_path / "workspace", FileReaders([song]))
    assert await desk.read(desk.put("x", b"SONG:teewt")) == "Title: A song\n\ntweet"
    lost = FileReader(kind="song", title="song", begins=b"SONG:", read="no_such_songs:read")
    desk = Desk(tmp_path / "workspace", FileReaders([lost]))
    assert "need the Python package no_such_songs" in await desk.refused("x")
