"""The files of an archive, and the archive made of them."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile

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


def diagnostics_of(at: float, files: list[DiagnosticsFile]) -> Diagnostics:
    """These files with their archive."""
    name = f"nanobot-diagnostics-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(at))}"
    return Diagnostics(name=name, at=at, files=files, archive=_tar(name, at, files))


def as_zip(made: Diagnostics) -> bytes:
    """The same files as a .zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in made.files:
            entry = zipfile.ZipInfo(f"{made.name}/{file.name}", time.gmtime(made.at)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, file.text)
    return buffer.getvalue()


def _tar(name: str, at: float, files: list[DiagnosticsFile]) -> bytes:
    """Owner and machine are not in it: the names in its headers are empty."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for file in files:
            content = file.text.encode()
            entry = tarfile.TarInfo(f"{name}/{file.name}")
            entry.size, entry.mtime, entry.mode = len(content), int(at), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=int(at))
