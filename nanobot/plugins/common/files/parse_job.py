"""What a parsing process is asked, and what it answers."""

from __future__ import annotations

import msgspec

MAX_TEXT = 2_000_000


class ParseJob(msgspec.Struct, frozen=True, kw_only=True):
    """What to read from standard input. `LIBRARIES` of its module may list, by function, what to
    import before the file is read.

    `offset` (from 1) and `limit` count pages, or lines of kinds without pages.
    """

    read: str
    """The function that does it, as "package.module:function": it gets the job and the open file,
    and returns a ParsedDocument or raises ToolError."""
    offset: int = 1
    limit: int = 1_000_000
    room: int = MAX_TEXT
    """In characters."""
    base: str = ""
    """A page's own URL."""


class ParsedDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The extracted text, or why there is none. `notes` describe content that is not in `text`."""

    text: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""
