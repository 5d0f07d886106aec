"""The files of an archive."""

from __future__ import annotations

import msgspec


class DiagnosticsFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `failed`: why its content could not be collected; the file says so, too."""

    name: str
    text: str
    size: int
    failed: str = ""


class Diagnostics(msgspec.Struct, frozen=True, kw_only=True):
    """All files, and `archive`, a .tar.gz of exactly these files."""

    name: str
    at: float
    files: list[DiagnosticsFile]
    archive: bytes


def file_of(name: str, text: str, failed: str = "") -> DiagnosticsFile:
    """A file of that text."""
    whole = f"{text.rstrip()}\n"
    return DiagnosticsFile(name=name, text=whole, size=len(whole.encode()), failed=failed)
