"""Received files: identified, stored as blobs, and put into the workspace under a safe name."""

from __future__ import annotations

import asyncio
import mimetypes
import re
import unicodedata
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Protocol

import msgspec

from nanobot.errors import NanobotError, StoreUnwritable, ToolError
from nanobot.labels import Privacy, Speaker, of
from nanobot.messages import Attachment
from nanobot.text import pattern
from nanobot.workspace.blobs import Blobs, MemoryBlobs
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.images import look, too_large
from nanobot.workspace.labelled_files import LabelledFiles

FOLDER = "received"

_MAX_NAME_BYTES = 120
_MAX_SUFFIX = 16
# Up to this many files of one name per day are numbered; further ones are named after their
# content.
_NUMBERED = 20
_TRANSCRIBING_SECONDS = 60.0
# Characters that some file system, shell or Windows share interprets specially.
_HOSTILE = pattern(r'[<>:"|?*\\/]')
_RESERVED = pattern(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_SUFFIXES = {"image/jpeg": ".jpg", "audio/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a"}


class Transcriber(Protocol):
    """Transcribes recordings."""

    async def transcribe(self, audio: bytes, name: str) -> str:
        """The transcript; `name` is the recording's file name. Raises ModelError or ConfigError."""
        ...


_PASSED_ON = of(Speaker.PASSED_ON, privacy=Privacy.CONVERSATION)


class Received:
    """Stores files received with messages: in `blobs`, and in the workspace within `roots`.
    `transcriber` transcribes recordings. Without `labels`, no content from outside is put into the
    workspace: nothing could tell later where it came from.
    """

    def __init__(
        self,
        blobs: Blobs | MemoryBlobs,
        roots: ConfinedFiles,
        transcriber: Transcriber | None = None,
        labels: LabelledFiles | None = None,
    ) -> None:
        self.blobs = blobs
        self.labels = labels
        self._roots = roots
        self.transcriber = transcriber

    async def keep(
        self, attachment: Attachment, content: bytes, at: float, *, outside: bool = False
    ) -> Attachment:
        """Store an attachment's content and return the attachment updated; its kind is decided by
        its bytes.

        `at` (unix seconds) determines the folder. The same file under the same name is stored once,
        and no file is ever overwritten. Failures are described in `error`. `outside`: the content
        is untrusted, and its file is labelled so.
        """
        kept = _recognized(attachment, content)
        try:
            # before the write: a crash between the two must not leave the file without a label
            if outside and self.labels is not None:
                await self.labels.expect(content, _PASSED_ON)
            digest = await self.blobs.write(content)
            kept = msgspec.structs.replace(kept, blob=digest)
            if outside and self.labels is None:
                return await self._with_words(kept, content)
            name = safe_name(kept.name, kept.kind, kept.mime)
            path = await self.put(FOLDER, name, content, digest, at)
            if outside and self.labels is not None:
                await self.labels.received(path, _PASSED_ON)
        except StoreUnwritable as error:
            return msgspec.structs.replace(kept, error=str(error))
        except ToolError as error:
            problem = f"it could not be put into the workspace ({error})"
            return msgspec.structs.replace(kept, error=problem)
        return await self._with_words(msgspec.structs.replace(kept, path=path), content)

    async def put(self, folder: str, name: str, content: bytes, digest: str, at: float) -> str:
        """Put content with that digest into the folder of the day, under a safe name; returns its
        path in the workspace. Raises ToolError."""
        day = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
        return await asyncio.to_thread(self._save, f"{folder}/{day}", name, content, digest)

    async def _with_words(self, file: Attachment, content: bytes) -> Attachment:
        """The attachment with its transcript, if that is enabled and succeeds."""
        if file.kind != "audio" or self.transcriber is None or not file.blob:
            return file
        name = (file.path or file.name or "voice.ogg").rpartition("/")[2]
        try:
            async with asyncio.timeout(_TRANSCRIBING_SECONDS):
                words = await self.transcriber.transcribe(content, name)
        except TimeoutError:
            return msgspec.structs.replace(file, error="it was not transcribed in time")
        except NanobotError as error:
            return msgspec.structs.replace(file, error=f"it was not transcribed: {error}")
        return msgspec.structs.replace(file, text=words.strip() or "(nothing is said in it)")

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


def _recognized(attachment: Attachment, content: bytes) -> Attachment:
    """Identify a file by its bytes: an image sent as a file is an image, an HTML page named .jpg is
    not.
    """
    change = msgspec.structs.replace
    recognized = change(attachment, size=len(content), error="", blob="", path="")
    if attachment.kind not in ("image", "document"):
        return recognized
    image = look(content)
    if image is None:
        return change(recognized, kind="document")
    why = too_large(image, len(content))
    return change(
        recognized,
        kind="image",
        mime=image.mime,
        error=f"too large to be shown: {why}" if why else "",
    )


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
