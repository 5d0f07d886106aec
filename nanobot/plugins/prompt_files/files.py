"""The files that make up the prompt, as an owner edits them."""

from __future__ import annotations

import asyncio
import hashlib
from functools import partial
from pathlib import Path

from nanobot.errors import NanobotError, ToolError, UnknownId, UsageError
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.policy.rules import PROMPT_FILES
from nanobot.plugins.prompt_files.prompt_file import PromptFile
from nanobot.supervision import to_its_end
from nanobot.workspace.folder import read

MOST_CHARS = 200_000
_MOST_FILES = 500
_MEMORY = "memory/"


class PromptFiles:
    """AGENTS.md and similar files, and the pages below memory/."""

    def __init__(self, workspace: Path, files: ConfinedFiles, taint: TaintedFiles) -> None:
        self._workspace = workspace
        self._files = files
        self._taint = taint
        self._writing = asyncio.Lock()

    async def listed(self) -> list[PromptFile]:
        """All existing and possible files, without their text."""
        return await asyncio.to_thread(self._listed)

    def _listed(self) -> list[PromptFile]:
        memory = self._workspace / "memory"
        pages = sorted(path for path in memory.rglob("*.md") if path.is_file())[:_MOST_FILES]
        names = [*PROMPT_FILES, *(path.relative_to(self._workspace).as_posix() for path in pages)]
        return [self._view(name) for name in names]

    async def read(self, name: str) -> PromptFile:
        """One with its text. Raises UnknownId for any other file, NanobotError if it cannot be
        read."""
        return await asyncio.to_thread(self._read, _checked(name))

    def _read(self, name: str) -> PromptFile:
        try:
            text = read(self._workspace, name, MOST_CHARS + 1)
        except FileNotFoundError:
            text = ""
        except OSError as error:
            raise NanobotError(f"{name} cannot be read: {error.strerror or error}") from None
        if len(text) > MOST_CHARS:
            raise NanobotError(f"{name} has more than {MOST_CHARS:,} characters: open it elsewhere")
        view = self._view(name)
        return PromptFile(
            name=name,
            size=view.size,
            changed_at=view.changed_at,
            digest=_digest(text),
            text=text,
        )

    async def write(self, name: str, text: str, digest: str) -> PromptFile:
        """Replace its text. Raises NanobotError if the file no longer matches `digest`."""
        if len(text) > MOST_CHARS:
            raise UsageError(f"a file of the prompt has at most {MOST_CHARS:,} characters")
        name = _checked(name)
        async with self._writing:
            before = await self.read(name)
            if digest and digest != before.digest:
                raise NanobotError(f"{name} was changed meanwhile: look at it again, then write it")
            try:
                await to_its_end(partial(self._files.write, name, text.encode()))
            except ToolError as error:
                raise NanobotError(f"{name} cannot be written: {error}") from None
            await self._taint.clear(name)  # an owner's own words
            return await self.read(name)

    def _view(self, name: str) -> PromptFile:
        try:
            status = (self._workspace / name).lstat()
        except OSError:
            return PromptFile(name=name, size=None, changed_at=None)
        return PromptFile(name=name, size=status.st_size, changed_at=status.st_mtime)


def _checked(name: str) -> str:
    parts = name.split("/")
    page = name.startswith(_MEMORY) and name.endswith(".md")
    if name not in PROMPT_FILES and (not page or not all(part.strip(". ") for part in parts)):
        files = ", ".join(PROMPT_FILES)
        raise UnknownId(f"{name[:80]!r} is not a file of the prompt: {files}, or memory/NAME.md")
    return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
