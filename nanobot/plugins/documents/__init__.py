"""The text of documents: PDF, Word, Excel and PowerPoint files."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import FileReader, Plugin

_PARSERS = "nanobot.plugins.documents.parsers"
_ARCHIVE = b"PK\x03\x04"

PLUGIN = Plugin(
    name="documents",
    summary="Reading the text of PDF, Word, Excel and PowerPoint files.",
    texts=Path(__file__).parent,
    readers=(
        FileReader(
            kind="pdf", title="PDF", begins=b"%PDF-", read=f"{_PARSERS}:pdf", counts="pages"
        ),
        # The first members of an archive identify it, otherwise its own name does.
        FileReader(
            kind="docx", title="Word", begins=_ARCHIVE, contains=b"word/", read=f"{_PARSERS}:docx"
        ),
        FileReader(
            kind="xlsx", title="Excel", begins=_ARCHIVE, contains=b"xl/", read=f"{_PARSERS}:xlsx"
        ),
        FileReader(
            kind="pptx",
            title="PowerPoint",
            begins=_ARCHIVE,
            contains=b"ppt/",
            read=f"{_PARSERS}:pptx",
        ),
    ),
)
