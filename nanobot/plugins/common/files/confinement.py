"""Which files tools may access. Paths are resolved component by component, so that none escapes."""

from __future__ import annotations

import copy
import errno
import itertools
import os
import stat
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nanobot.errors import ConfigError, ToolDenied, ToolError
from nanobot.text import quoted

MAX_PATH = 4096
MAX_LINKS = 40
# Each folder along the path is an open descriptor, and a process has a limited number.
MAX_DEPTH = 100

# Without O_PATH (Linux only), folders along the path must be readable, not only searchable.
_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_FOLDER = _PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Do not wait for the writer of a FIFO or acquire a terminal: the file may have been replaced since
# it was checked.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_REASONS = {
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.ENAMETOOLONG: "a name in it is too long",
    errno.EFBIG: "the file would be too large",
    errno.ENOTDIR: "a part of it is not a folder",
    # Both mean that a name was replaced between the check and the open.
    errno.ELOOP: "it was changed while it was being opened",
    errno.ENOENT: "there is no such file or folder (list_dir shows what there is)",
}
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


class ConfinedPath:
    """The result of resolving a path: `name` in the open folder `folder`, or that folder itself if
    name is "".

    `status` is the status of the entry, None if it does not exist.
    """

    def __init__(self, folder: int, name: str, status: os.stat_result | None) -> None:
        self.folder = folder
        self.name = name
        self.status = status


class ConfinedFiles:
    """The workspace, and other files that tools may access.

    No path leads out of it, whether by `..`, absolute names, links, or replacing a folder by a link
    during the check: every component is opened relative to the previous one, without following
    links. Links whose target is inside work. Anything in `hidden` is out of reach, even inside the
    workspace; `everywhere` extends access to the whole file system except `hidden` and /proc.
    """

    def __init__(
        self, workspace: Path, *, hidden: Sequence[Path] = (), everywhere: bool = False
    ) -> None:
        try:
            workspace.mkdir(parents=True, exist_ok=True)
            self.workspace = workspace.resolve(strict=True)
            os.close(os.open(self.workspace, _FOLDER))
        except OSError as error:
            why = "it is not a folder" if workspace.is_file() else error.strerror
            raise ConfigError(
                f"workspace: {workspace} cannot be used as the workspace: {why}"
            ) from error
        # Not resolved: hidden files are recognized by their inode at the time of each call.
        self._hidden = tuple(hidden)
        if self.workspace.parent == self.workspace or self._key(self.workspace) in self._keys():
            raise ConfigError(
                f"workspace: {workspace} holds more than the assistant's files: "
                "name a separate folder"
            )
        self._named = (str(workspace.absolute()), str(self.workspace))
        self._everywhere = everywhere
        self._counter = itertools.count()
        self._writing = threading.Lock()

    def excluding(self, private: Sequence[Path]) -> ConfinedFiles:
        """The same roots with more hidden files. Both share one lock for changes."""
        files = copy.copy(self)
        files._hidden = (  # noqa: SLF001 - of our own kind
            *self._hidden,
            *private,
        )
        return files

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Block all other changes through these roots."""
        with self._writing:
            yield

    @contextmanager
    def file(self, path: str) -> Iterator[tuple[int, os.stat_result]]:
        """A regular file open for reading. Raises ToolError for anything else."""
        with self._errors(path), self._place(path) as place:
            _require_file(place.status, path)
            descriptor = os.open(place.name, _READ, dir_fd=place.folder)
            try:
                status = os.fstat(descriptor)
                _require_file(status, path)
                yield descriptor, status
            finally:
                os.close(descriptor)

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """A folder open for listing. Raises ToolError for anything else."""
        with self._errors(path), self._place(path) as place:
            if place.status is None:
                raise FileNotFoundError(errno.ENOENT, "")
            if place.name:
                raise ToolError(f"{quoted(path)} is {_kind(place.status)}, not a folder")
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            descriptor = os.open(".", flags, dir_fd=place.folder)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    @contextmanager
    def first_allowed(self, path: str) -> Iterator[int]:
        """A folder or a regular file open for reading. Raises ToolError for anything else."""
        with self._errors(path), self._place(path) as place:
            folder = not place.name
        opened = self.folder(path) if folder else self.file(path)
        with opened as file:
            yield file if isinstance(file, int) else file[0]

    def hidden_keys(self) -> frozenset[tuple[int, int]]:
        """Device and inode of everything hidden, except the workspace itself."""
        return self._keys() - {self._key(self.workspace)}

    def may_meet_hidden(self) -> bool:
        """Whether something hidden may be under the reachable folders: a hidden file with more than
        one hard link may be anywhere.
        """
        return self._everywhere or any(
            path.resolve().is_relative_to(self.workspace) or _has_other_names(path)
            for path in self._hidden
        )

    def write(self, path: str, data: bytes) -> bool:
        """Make `data` the file's content, atomically; True if the file is new.

        The content is on the disk when this returns. Missing folders are created; an existing file
        keeps its mode. Raises ToolError.
        """
        with self._errors(path), self._place(path, create=True) as place:
            if place.status is not None:
                _require_file(place.status, path)
                if not os.access(place.name, os.W_OK, dir_fd=place.folder):
                    raise PermissionError(errno.EACCES, "")
            self._replace(place, data)
            return place.status is None

    def create(self, path: str, data: bytes) -> bool:
        """Like `write`, but only if the path does not exist: False if it does."""
        with self._errors(path), self._place(path, create=True) as place:
            if place.status is not None:
                return False
            self._replace(place, data)
            return True

    def _replace(self, place: ConfinedPath, data: bytes) -> None:
        temporary, descriptor = self._temporary(place.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if place.status is not None:
                    _like(descriptor, place.status)
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=place.folder)
            raise
        # The rename is durable only after the folder is synced.
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _temporary(self, folder: int) -> tuple[str, int]:
        while True:
            name = f".nanobot-{os.getpid()}-{next(self._counter)}.tmp"
            with suppress(FileExistsError):
                return name, os.open(name, _NEW, 0o666, dir_fd=folder)

    @contextmanager
    def _place(self, path: str, *, create: bool = False) -> Iterator[ConfinedPath]:
        if "\0" in path or len(path) > MAX_PATH:
            raise ToolError(f"{quoted(path)} cannot be a path")
        walk = _Walk(self._key(self.workspace), self._keys())
        try:
            yield self._follow(walk, path, create=create)
        finally:
            walk.close()

    def _follow(self, walk: _Walk, path: str, *, create: bool) -> ConfinedPath:
        todo = self._start(walk, path, path)
        links = 0
        while todo:
            name = todo.popleft()
            if name == "..":
                if not walk.up() and not self._everywhere:
                    raise self._outside(path)
                continue
            status = _look(walk.top, name)
            if status is not None and stat.S_ISLNK(status.st_mode):
                links += 1
                if links > MAX_LINKS:
                    raise ToolError(f"{quoted(path)} leads through too many links")
                target = os.readlink(name, dir_fd=walk.top)
                rest = self._start(walk, target, path) if target[:1] == "/" else _split(target)
                todo = rest + todo
                continue
            if not todo and (status is None or not stat.S_ISDIR(status.st_mode)):
                walk.require_shown(status, path)
                return ConfinedPath(walk.top, name, status)
            if status is None:
                walk.require_shown(None, path)
            if walk.depth >= MAX_DEPTH:
                raise ToolError(f"{quoted(path)} leads through over {MAX_DEPTH} folders")
            if status is None and create:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=walk.top)
            walk.down(name)
        walk.require_shown(None, path)
        return ConfinedPath(walk.top, "", os.fstat(walk.top))

    def _start(self, walk: _Walk, path: str, named: str) -> deque[str]:
        """Move to where the path begins; return the remaining components."""
        if self._everywhere:
            walk.begin("/")
            return _split(path if path[:1] == "/" else f"{self.workspace}/{path}")
        walk.begin(str(self.workspace))
        if path[:1] != "/":
            return _split(path)
        for root in self._named:
            if path == root or path.startswith(root + "/"):
                return _split(path[len(root) :])
        raise self._outside(named)

    def _outside(self, path: str) -> ToolDenied:
        return ToolDenied(f"{quoted(path)} is outside the workspace {self.workspace}")

    def _keys(self) -> frozenset[tuple[int, int]]:
        keys = set()
        for path in self._hidden:
            with suppress(OSError):
                keys.add(self._key(path))
        return frozenset(keys)

    @staticmethod
    def _key(path: Path) -> tuple[int, int]:
        status = path.stat()
        return status.st_dev, status.st_ino

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = _REASONS.get(error.errno or 0, error.strerror or type(error).__name__)
            raise ToolError(f"{quoted(path)}: {reason}") from error
        except UnicodeEncodeError as error:
            raise ToolError(f"{quoted(path)} cannot be a path") from error


class _Walk:
    """The open folders from the start of the walk to its current position. `..` goes back along
    them without asking the file system, which could return a folder that was moved in the meantime.
    """

    def __init__(self, workspace: tuple[int, int], hidden: frozenset[tuple[int, int]]) -> None:
        self._workspace = workspace
        self._hidden = hidden
        self._folders: list[tuple[int, bool]] = []
        self._proc = _device_of_proc()

    @property
    def top(self) -> int:
        return self._folders[-1][0]

    @property
    def depth(self) -> int:
        return len(self._folders)

    def begin(self, path: str) -> None:
        self.close()
        self._push(os.open(path, _PATH | os.O_DIRECTORY | os.O_CLOEXEC), shown=True)

    def down(self, name: str) -> None:
        self._push(os.open(name, _FOLDER, dir_fd=self.top), shown=self._folders[-1][1])

    def up(self) -> bool:
        """Go up one folder; False at the start, which has no parent."""
        if len(self._folders) == 1:
            return False
        os.close(self._folders.pop()[0])
        return True

    def require_shown(self, status: os.stat_result | None, path: str) -> None:
        """Raise ToolDenied for hidden entries, recognized by their location or their own inode."""
        shown = self._folders[-1][1]
        if status is not None and (status.st_dev, status.st_ino) in self._hidden:
            shown = False
        if not shown:
            raise ToolDenied(f"{quoted(path)} is not for tools")

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop()[0])

    def _push(self, descriptor: int, *, shown: bool) -> None:
        status = os.fstat(descriptor)
        key = (status.st_dev, status.st_ino)
        if key == self._workspace:
            shown = True
        elif key in self._hidden or status.st_dev == self._proc:
            # /proc/self/environ contains this process's keys.
            shown = False
        self._folders.append((descriptor, shown))


def _device_of_proc() -> int | None:
    try:
        return Path("/proc/self").stat().st_dev
    except OSError:
        return None


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _split(path: str) -> deque[str]:
    return deque(part for part in path.split("/") if part not in ("", "."))


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a file")


def _has_other_names(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


def _require_file(status: os.stat_result | None, path: str) -> None:
    if status is None:
        raise FileNotFoundError(errno.ENOENT, "")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{quoted(path)} is {_kind(status)}, not a file")


def _like(descriptor: int, status: os.stat_result) -> None:
    """Give a new file the mode and, if this process may, the owner of the file it replaces."""
    with suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & 0o777)
