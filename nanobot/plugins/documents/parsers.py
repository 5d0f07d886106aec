"""The text of PDF and Office files, in the process that parses what is untrusted."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any, BinaryIO

from nanobot.errors import ToolError
from nanobot.plugins.common.files.parse_job import ParsedDocument, ParseJob
from nanobot.plugins.common.optional import command

LIBRARIES = {"pdf": ("pypdf",), "docx": ("docx",), "xlsx": ("openpyxl",), "pptx": ("pptx",)}
# Office files are ZIP archives; text compresses well, so a large member alone is not a bomb.
MAX_UNPACKED = 256 << 20
MAX_MEMBERS = 20_000


def pdf(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    """The pages of a PDF file."""
    pypdf = import_module("pypdf")
    reader = pypdf.PdfReader(file)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolError("the PDF is encrypted: it needs a password")
    except pypdf.errors.DependencyError as error:
        raise ToolError(f"the PDF is encrypted, and to read it takes more: {error}") from error
    count = len(reader.pages)
    if job.offset > count:
        pages = "1 page" if count == 1 else f"{count} pages"
        raise ToolError(f"page {job.offset} is past the end: the PDF has {pages}")
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


def docx(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    """The paragraphs and tables of a Word file."""
    docx = _office("docx")
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


def xlsx(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    """The rows of the sheets of an Excel file."""
    openpyxl = _office("openpyxl")
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


def pptx(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    """The texts and notes of the slides of a PowerPoint file."""
    pptx = _office("pptx")
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
        lines = "1 line" if last == 1 else f"{last} lines"
        raise ToolError(f"line {job.offset} is past the end: the document has {lines}")
    return ParsedDocument(
        text="\n".join(taken), notes=() if taken else ("the document has no text",)
    )


def _office(name: str) -> Any:
    """The library for a kind of Office file. Raises ToolError that names the remedy if it is not
    installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ToolError(
            f"files of this kind need {error.name}, which is not installed. Ask the one who runs "
            f"nanobot to install it: {command('documents')}"
        ) from error
