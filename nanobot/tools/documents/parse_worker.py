"""The process that parses untrusted pages and documents.

It is started as `python -m nanobot.tools.documents.parse_worker`.

Its environment contains no secrets, its memory and processor time are limited, and its only file is
its standard input. It writes one JSON object and ends; the parent may kill it at any time. If a
parser loops, uses too much memory or crashes on hostile input, nothing else is affected.
"""

from __future__ import annotations

import signal
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from types import FrameType
from typing import Any, BinaryIO

import msgspec

from nanobot.errors import ToolError
from nanobot.optional import command
from nanobot.tools.worker_limits import limit_self

MAX_TEXT = 2_000_000
# Processor time for finding the readable part of a page; extracting all of its text is much faster.
READABLE_SECONDS = 8.0
MAX_READABLE = 2_000_000
_TOO_LARGE = ("the page is too large to find its main text: this is all of its text",)
# Office files are ZIP archives; text compresses well, so a large member alone is not a bomb.
MAX_UNPACKED = 256 << 20
MAX_MEMBERS = 20_000
_REMEDY = f"Ask the one who runs nanobot to install it: {command('documents')}"


class ParseJob(msgspec.Struct, frozen=True, kw_only=True):
    """What to read from standard input: `kind` is html, pdf, docx, xlsx or pptx.

    `offset` (from 1) and `limit` count pages of a PDF, otherwise lines; `room` is in characters.
    `base` is a page's own URL.
    """

    kind: str
    offset: int = 1
    limit: int = 1_000_000
    room: int = MAX_TEXT
    base: str = ""


class ParsedDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The extracted text, or why there is none. `notes` describe content that is not in `text`."""

    text: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""


def read(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    """Read a document. Raises ToolError, and any error of its parser."""
    try:
        return _KINDS[job.kind](job, file)
    except ModuleNotFoundError as error:
        raise ToolError(
            f"files of this kind ({job.kind}) need {error.name}, which is not installed. {_REMEDY}"
        ) from error


def _html(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    """The readable part in Markdown with its links; for a page without one, all of its text."""
    data = file.read()
    tree = _tree(data)
    title = " ".join((tree.findtext(".//title") or "").split())
    text, notes = _readable(tree, job.base) if len(data) <= MAX_READABLE else ("", _TOO_LARGE)
    if not text.strip():
        text = _all_text(_tree(data))
    if not text.strip():
        notes = (*notes, "the page has no text without a browser that runs it")
    return ParsedDocument(text=text[: job.room].strip(), title=title[:300], notes=notes)


def _readable(tree: Any, base: str) -> tuple[str, tuple[str, ...]]:
    """The readable part of a page, "" if there is none; and a note about it."""
    # The encoding declared in the page no longer matters, so the library gets the tree.
    extract = import_module("trafilatura").bare_extraction
    options = {"include_links": True, "include_formatting": True, "favor_recall": True}
    signal.signal(signal.SIGPROF, _too_much)
    signal.setitimer(signal.ITIMER_PROF, READABLE_SECONDS)
    try:
        extracted = extract(tree, url=base or None, **options)
        text = (extracted.text if extracted else "") or ""
    except (_TooMuchError, MemoryError):
        return "", _TOO_LARGE
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return text, ()


class _TooMuchError(BaseException):
    """Like KeyboardInterrupt, so that no library catches it as an ordinary error."""


def _too_much(_number: int, _frame: FrameType | None) -> None:
    raise _TooMuchError


def _tree(data: bytes) -> Any:
    """The page, encoded as UTF-8, as an lxml tree."""
    html = import_module("lxml.html")
    parser = html.HTMLParser(encoding="utf-8")
    try:
        return html.document_fromstring(data or b"<p></p>", parser=parser)
    except import_module("lxml.etree").ParserError:
        return html.document_fromstring(b"<p></p>", parser=parser)


def _all_text(tree: Any) -> str:
    for element in list(tree.iter("head", "script", "style", "template")):
        element.drop_tree()
    parts = (" ".join(part.split()) for part in tree.itertext())
    return "\n".join(part for part in parts if part)


def _pdf(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    pypdf = import_module("pypdf")
    reader = pypdf.PdfReader(file)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolError("the PDF is encrypted: it needs a password")
    except pypdf.errors.DependencyError as error:
        raise ToolError(f"the PDF is encrypted, and to read it takes more: {error}") from error
    count = len(reader.pages)
    if job.offset > count:
        raise ToolError(f"page {job.offset} is past the end: the PDF has {count} pages")
    parts: list[str] = []
    notes: list[str] = []
    room, last = job.room, job.offset
    for number in range(job.offset, min(job.offset + job.limit, count + 1)):
        part = (
            f"--- page {number} of {count} ---\n{reader.pages[number - 1].extract_text()}".strip()
        )
        if len(part) > room and parts:
            break
        if len(part) > room:
            notes.append(f"page {number} is cut: it has {len(part) - room:,} more characters")
        parts.append(part[:room])
        room -= len(part) + 2
        last = number
    if last < count:
        notes.append(f"pages {job.offset} to {last}; the rest begins at offset={last + 1}")
    if not any(part.partition("\n")[2] for part in parts):
        notes.append("no text in these pages: they are pictures, or drawn")
    title = ""
    with suppress(AttributeError, ValueError):
        title = str(reader.metadata.title or "")
    return ParsedDocument(text="\n\n".join(parts), title=title[:300], notes=tuple(notes))


def _docx(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    docx = import_module("docx")
    _check_archive(file)
    return _lines(job, _docx_lines(docx.Document(file)))


def _docx_lines(document: Any) -> Iterator[str]:
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            for row in block.rows:
                yield " | ".join(" ".join(cell.text.split()) for cell in row.cells)
            continue
        style = (block.style.name or "") if block.style is not None else ""
        level = style.removeprefix("Heading ")
        if style == "Title" or (level.isdigit() and level != style):
            yield f"{'#' * (int(level) if level.isdigit() else 1)} {block.text}"
        else:
            yield from block.text.split("\n")


def _xlsx(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    openpyxl = import_module("openpyxl")
    _check_archive(file)
    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    return _lines(job, chain.from_iterable(_sheet_lines(sheet) for sheet in book.worksheets))


def _sheet_lines(sheet: Any) -> Iterator[str]:
    yield f"--- sheet {sheet.title} ---"
    # The size that a file declares may be a million empty rows.
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True):
        cells = ["" if cell is None else " ".join(str(cell).split()) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield "\t".join(cells)


def _pptx(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    pptx = import_module("pptx")
    _check_archive(file)
    return _lines(job, _slide_lines(pptx.Presentation(file)))


def _slide_lines(presentation: Any) -> Iterator[str]:
    for number, slide in enumerate(presentation.slides, start=1):
        yield f"--- slide {number} ---"
        for shape in slide.shapes:
            if shape.has_text_frame:
                yield from shape.text_frame.text.splitlines()
            if getattr(shape, "has_table", False):
                for row in shape.table.rows:
                    yield " | ".join(cell.text for cell in row.cells)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield from (f"note: {t}" for t in slide.notes_slide.notes_text_frame.text.splitlines())


def _check_archive(file: BinaryIO) -> None:
    """Raise ToolError for archives that unpack to too much data. No member unpacks to more than its
    declared size: zipfile stops there.
    """
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
    total = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or total > MAX_UNPACKED:
        raise ToolError(
            f"it would unpack to {total:,} bytes in {len(members):,} parts; "
            f"at most {MAX_UNPACKED:,} bytes in {MAX_MEMBERS:,} parts are read"
        )
    file.seek(0)


def _lines(job: ParseJob, lines: Iterable[str]) -> ParsedDocument:
    """Lines from `offset`, at most `limit`, within `room`."""
    taken: list[str] = []
    room, last = job.room, 0
    for number, line in enumerate(lines, start=1):
        if number < job.offset:
            last = number
            continue
        shown = line if len(line) <= 2_000 else f"{line[:2_000]} [... {len(line) - 2_000:,} more]"
        if len(taken) == job.limit or (taken and len(shown) > room):
            note = f"lines {job.offset} to {number - 1}; the rest begins at offset={number}"
            return ParsedDocument(text="\n".join(taken), notes=(note,))
        taken.append(shown)
        room -= len(shown) + 1
    if not taken and job.offset > 1:
        raise ToolError(f"line {job.offset} is past the end: the document has {last} lines")
    return ParsedDocument(
        text="\n".join(taken), notes=() if taken else ("the document has no text",)
    )


_KINDS: dict[str, Callable[[ParseJob, BinaryIO], ParsedDocument]] = {
    "html": _html,
    "pdf": _pdf,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
}


def main() -> None:
    """Read the job from the arguments and the document from standard input; write a Reading."""
    limit_self()
    job = msgspec.json.decode(sys.argv[1].encode(), type=ParseJob)
    with open(0, "rb", closefd=False) as file:
        try:
            reading = read(job, file)
        except ToolError as error:
            reading = ParsedDocument(error=str(error))
        except MemoryError:
            reading = ParsedDocument(error="it needs more memory than is given to a document")
    sys.stdout.buffer.write(msgspec.json.encode(reading))


if __name__ == "__main__":
    main()
