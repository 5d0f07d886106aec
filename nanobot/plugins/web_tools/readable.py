"""The readable part of a web page, in the process that parses what is untrusted."""

from __future__ import annotations

import signal
from importlib import import_module
from types import FrameType
from typing import Any, BinaryIO

from nanobot.plugins.common.files.parse_job import ParsedDocument, ParseJob

LIBRARIES = {"read": ("lxml.html", "trafilatura")}
# Processor time for finding the readable part of a page; extracting all of its text is much faster.
READABLE_SECONDS = 8.0
MAX_READABLE = 2_000_000
_TOO_LARGE = ("the page is too large to find its main text: this is all of its text",)


def read(job: ParseJob, file: BinaryIO) -> ParsedDocument:
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
