"""The files of the workspace as shown to their owner: listed, read, and downloaded."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Collection

from nanobot.errors import NanobotError, NotAllowed, ToolError, UsageError
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.policy.policy import policy_of
from nanobot.plugins.common.policy.rules import PolicyInput
from nanobot.plugins.files.views import FileKind, FileText, FileView
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import Verdict

MOST_FILES = 2_000
"""Maximum names in the listing of one folder."""
MOST_CHARS = 200_000
_MOST_BYTES = 4 * MOST_CHARS


class OpenedFile:
    """A file that is read in pieces. Replacing the file under its name does not affect it."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor

    async def read(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from that offset; b"" at the end."""
        return await asyncio.to_thread(os.pread, self._descriptor, count, offset)

    def close(self) -> None:
        os.close(self._descriptor)


class SharedFiles:
    """The ShownFiles of a workspace: nothing hidden, nothing outside. All methods raise
    NanobotError.
    """

    def __init__(self, files: ConfinedFiles, tools: ToolRegistry) -> None:
        self._files = files
        self._tools = tools

    async def listed(self, folder: str) -> list[FileView]:
        """The entries of a folder, folders first."""
        return await asyncio.to_thread(self._listed, folder)

    async def shown(self, path: str) -> FileText:
        """A file's text."""
        self._check(path)
        return await asyncio.to_thread(self._shown, path)

    async def opened(self, path: str) -> OpenedFile:
        """An opened file; the caller closes it."""
        self._check(path)
        return await asyncio.to_thread(self._opened, path)

    def _check(self, path: str) -> None:
        """Raises NotAllowed for a file that no one may read by policy, not even an owner. The tool
        is not asked: rules hold for people, too, while models have no file tools."""
        decision = policy_of(self._tools).judge(
            PolicyInput(tool="read_file", arguments={"path": path})
        )
        if decision.verdict is Verdict.DENY:
            raise NotAllowed(f"{path[:200]} is not shown because {decision.why} ({decision.rule}).")

    def _listed(self, folder: str) -> list[FileView]:
        base = _checked(folder)
        try:
            with self._files.folder(base or ".") as descriptor, os.scandir(descriptor) as entries:
                hidden = self._files.hidden_keys()
                rows = [row for entry in entries if (row := _view(base, entry, hidden))]
        except ToolError as error:
            raise NanobotError(str(error)) from None
        except OSError as error:
            raise NanobotError(f"{folder} cannot be read: {error.strerror or error}") from None
        rows = sorted(rows, key=lambda row: (row.kind != "folder", row.path.lower(), row.path))
        if len(rows) > MOST_FILES:
            raise NanobotError(
                f"{folder or 'the workspace'} has {len(rows):,} files: more than {MOST_FILES:,} "
                "are not listed; look at it with `ls`"
            )
        return rows

    def _shown(self, path: str) -> FileText:
        try:
            with self._files.file(_checked(path)) as (descriptor, status):
                raw = os.pread(descriptor, _MOST_BYTES, 0)
        except ToolError as error:
            raise NanobotError(str(error)) from None
        except OSError as error:
            raise NanobotError(f"{path} cannot be read: {error.strerror or error}") from None
        text = raw.decode("utf-8", "replace")
        is_text = b"\0" not in raw and text.count("\ufffd") <= len(text) // 100
        shown = text[:MOST_CHARS] if is_text else ""
        return FileText(
            path=path,
            size=status.st_size,
            changed_at=status.st_mtime,
            text=shown,
            is_text=is_text,
            cut=is_text and (status.st_size > len(raw) or len(shown) < len(text)),
        )

    def _opened(self, path: str) -> OpenedFile:
        try:
            with self._files.file(_checked(path)) as (descriptor, _):
                return OpenedFile(os.dup(descriptor), path.rstrip("/").rpartition("/")[2])
        except ToolError as error:
            raise NanobotError(str(error)) from None


def _checked(path: str) -> str:
    """The path within the workspace. Raises UsageError for a path that is not written as one."""
    if path.startswith(("/", "~")) or "\0" in path:
        raise UsageError(f"{path[:80]!r} is not a path in the workspace: write notes/lisbon.md")
    return path.strip("/")


def _view(
    base: str, entry: os.DirEntry[str], hidden: Collection[tuple[int, int]]
) -> FileView | None:
    """The view of an entry; None if it is hidden, or was removed since its folder was read."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if (status.st_dev, status.st_ino) in hidden:
        return None
    name = entry.name.encode("utf-8", "replace").decode()
    return FileView(
        path=f"{base}/{name}" if base else name,
        kind=_kind(status.st_mode),
        size=status.st_size if stat.S_ISREG(status.st_mode) else None,
        changed_at=status.st_mtime,
    )


def _kind(mode: int) -> FileKind:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "other"
