"""Received files: identified, stored as blobs, and put into the workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

import msgspec

from nanobot.errors import NanobotError, StoreUnwritable, ToolError
from nanobot.messages import Attachment
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.images import look, too_large

FOLDER = "received"
_TRANSCRIBING_SECONDS = 60.0


class Transcriber(Protocol):
    """Transcribes recordings."""

    async def transcribe(self, audio: bytes, name: str) -> str:
        """The transcript; `name` is the recording's file name. Raises ModelError or ConfigError."""


class WorkspaceFiles(Protocol):
    """Puts files into the workspace, for tools that read them. The plugin `file_tools` offers it,
    on or off."""

    async def put(
        self, folder: str, file: Attachment, content: bytes, at: float, *, outside: bool = False
    ) -> str:
        """Put a stored file into the folder of that day (`at`, unix seconds), under a safe name;
        returns its path in the workspace. The same file under the same name is stored once, and no
        file is ever overwritten. `outside`: the content is untrusted, and its file is labelled so;
        "" where nothing keeps labels. Raises ToolError."""

    async def is_outside(self, place: Path, content: bytes) -> bool:
        """Whether a file at this absolute path, with links resolved, may have content from outside,
        by its path or its content."""


class Received:
    """Stores files received with messages: in `blobs`, and by `files` in the workspace.
    `transcriber` transcribes recordings.
    """

    def __init__(
        self,
        blobs: Blobs,
        files: WorkspaceFiles | None = None,
        transcriber: Transcriber | None = None,
    ) -> None:
        self.blobs = blobs
        self.files = files
        self.transcriber = transcriber

    async def keep(
        self, attachment: Attachment, content: bytes, at: float, *, outside: bool = False
    ) -> Attachment:
        """Store an attachment's content and return the attachment updated; its kind is decided by
        its bytes. `at` and `outside`: see WorkspaceFiles. Failures are described in `error`.
        """
        kept = _recognized(attachment, content)
        try:
            kept = msgspec.structs.replace(kept, blob=await self.blobs.write(content))
            if self.files is not None:
                path = await self.files.put(FOLDER, kept, content, at, outside=outside)
                kept = msgspec.structs.replace(kept, path=path)
        except StoreUnwritable as error:
            return msgspec.structs.replace(kept, error=str(error))
        except ToolError as error:
            problem = f"it could not be put into the workspace ({error})"
            return msgspec.structs.replace(kept, error=problem)
        return await self._with_words(kept, content)

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
