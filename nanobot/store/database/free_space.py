"""Leaving no trace in a SQLite file of what was removed from it, without writing it anew.

With `secure_delete` SQLite overwrites what it removes, but not what it once moved: where rows pass
from one page to another while a table is balanced, their old bytes stay in the unused middle of the
page they came from (about one removed text in 300 could be read there). So the unused parts of
pages are overwritten here, in the file itself. SQLite never reads them; that they change between
two of its transactions is no harm, and doing it twice is none either.
"""

from __future__ import annotations

import os
from pathlib import Path

# What a page of a table or an index begins with; at these sizes no overflow page does, whose first
# byte is the highest of a page number.
_HEADER_BYTES = {2: 12, 5: 12, 10: 8, 13: 8}
_FIRST_PAGE_HEADER = 100
_MOST_PAGES = 0x01FFFFFF


class FreeSpace:
    """The unused bytes within the pages of a database file. One for the life of its connection:
    closing any descriptor of a file gives up every lock that the process has on it."""

    def __init__(self, path: Path, page_size: int) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._page_size = page_size
        self._wal = path.with_name(f"{path.name}-wal")

    @property
    def wal_size(self) -> int:
        """Bytes that were written and are not in the file yet."""
        return self._wal.stat().st_size if self._wal.exists() else 0

    @property
    def pages(self) -> int:
        """How many there are."""
        return os.fstat(self._file).st_size // self._page_size

    def clear(self, first: int, count: int) -> int:
        """Overwrite what is unused in these pages (0 is the first); returns in how many there was
        something. Whoever has pages in a cache has to forget them."""
        size = self._page_size
        if self.pages > _MOST_PAGES:
            raise ValueError("a database of this size cannot be cleared page by page")
        data = os.pread(self._file, count * size, first * size)
        changed = 0
        for place in range(0, len(data) - size + 1, size):
            page = data[place : place + size]
            cleared = _cleared(page, _FIRST_PAGE_HEADER if first + place == 0 else 0)
            if cleared is not None:
                os.pwrite(self._file, cleared, first * size + place)
                changed += 1
        return changed

    def sync(self) -> None:
        """It is on the disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """After the connection was closed."""
        os.close(self._file)


def _cleared(page: bytes, header: int) -> bytes | None:
    """The page with zeroes in all that it does not use; None if there are some already."""
    pointers = _HEADER_BYTES.get(page[header])
    if pointers is None:
        return None
    cells = int.from_bytes(page[header + 3 : header + 5])
    begin = header + pointers + 2 * cells
    end = int.from_bytes(page[header + 5 : header + 7]) or 65_536
    if not begin <= end <= len(page):
        return None
    spans = [(begin, end), *_free_blocks(page, header)]
    if not any(page[a:b].strip(b"\0") for a, b in spans):
        return None
    cleared = bytearray(page)
    for a, b in spans:
        cleared[a:b] = bytes(b - a)
    return bytes(cleared)


def _free_blocks(page: bytes, header: int) -> list[tuple[int, int]]:
    """What was freed between cells: each begins with the place of the next, and its size."""
    spans, at = [], int.from_bytes(page[header + 1 : header + 3])
    while 0 < at <= len(page) - 4:
        size = int.from_bytes(page[at + 2 : at + 4])
        if at + size > len(page):
            return []
        spans.append((at + 4, at + size))
        following = int.from_bytes(page[at : at + 2])
        if following <= at:
            break
        at = following
    return spans
