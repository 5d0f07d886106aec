"""Files that people send, in the workspace: under safe names, in a folder of each day."""

from __future__ import annotations

import asyncio
import mimetypes
import re
import unicodedata
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from nanobot.errors import ToolError
from nanobot.labels import Privacy, Speaker, of
from nanobot.messages import Attachment
from nanobot.plugins.common.file_labels.labelled_files import LabelledFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.text import pattern

_MAX_NAME_BYTES = 120
_MAX_SUFFIX = 16
# Up to this many files of one name per day are numbered; further ones are named after their
# content.
_NUMBERED = 20
# Characters that some file system, shell or Windows share interprets specially.
_HOSTILE = pattern(r'[<>:"|?*\\/]')
_RESERVED = pattern(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_SUFFIXES = {"image/jpeg": ".jpg", "audio/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a"}
_PASSED_ON = of(Speaker.PASSED_ON, privacy=Privacy.CONVERSATION)


class PlacedFiles:
    """The `nanobot.workspace.received.WorkspaceFiles` over a workspace. Without `labels`, no
    content from outside is put there: nothing could tell later where it came from."""

    def __init__(self, roots: ConfinedFiles, labels: LabelledFiles | None = None) -> None:
        self._roots = roots
        self._labels = labels

    async def put(
        self, folder: str, file: Attachment, content: bytes, at: float, *, outside: bool = False
    ) -> str:
        labels = self._labels
        if outside and labels is None:
            return ""
        if outside and labels is not None:
            # before the write: a crash between the two must not leave the file without a label
            await labels.expect(content, _PASSED_ON)
        day = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
        name = safe_name(file.name, file.kind, file.mime)
        path = await asyncio.to_thread(self._save, f"{folder}/{day}", name, content, file.blob)
        if outside and labels is not None:
            await labels.received(path, _PASSED_ON)
        return path

    async def is_outside(self, place: Path, content: bytes) -> bool:
        return self._labels is None or await self._labels.is_outside(place, content)

    def _save(self, folder: str, name: str, content: bytes, digest: str) -> str:
        stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix
        numbers = ("", *(f"-{number}" for number in range(2, _NUMBERED + 1)), f"-{digest[:16]}")
        for number in numbers:
            path = f"{folder}/{stem}{number}{suffix}"
            with self._roots.exclusive():
                if self._roots.create(path, content) or self._same(path, content):
                    return path
        raise ToolError(f"{folder} has another file named {stem}-{digest[:16]}{suffix}")

    def _same(self, path: str, content: bytes) -> bool:
        """Whether exactly that file exists: fetched before a crash, or sent twice."""
        with self._roots.file(path) as (descriptor, status):
            if status.st_size != len(content):
                return False
            with open(descriptor, "rb", closefd=False) as file:
                return file.read() == content


def safe_name(name: str, kind: str, mime: str) -> str:
    """A safe file name similar to the given one: no folder, not hidden or reserved, no characters
    that are invisible or change the text direction, at most 120 bytes.
    """
    base = re.split(r"[\\/]", unicodedata.normalize("NFC", name))[-1]
    shown = "".join(" " if c.isspace() else c for c in base if c.isspace() or _is_shown(c))
    plain = _HOSTILE.sub("_", " ".join(shown.split())).strip(". ").lstrip("-~")
    suffix = PurePosixPath(plain).suffix
    if not suffix or len(suffix) > _MAX_SUFFIX:
        suffix = _SUFFIXES.get(mime) or mimetypes.guess_extension(mime) or ""
    suffix = _cut(suffix, _MAX_SUFFIX * 4)
    stem = plain.removesuffix(suffix)
    stem = _cut(stem, _MAX_NAME_BYTES - len(suffix.encode())).strip(". ") or kind or "file"
    return f"_{stem}{suffix}" if _RESERVED.fullmatch(stem) else f"{stem}{suffix}"


def _is_shown(character: str) -> bool:
    return unicodedata.category(character)[0] != "C"


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode("utf-8", "ignore")
