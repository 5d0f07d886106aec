"""One watched path: a thread collects change notifications of the system until they are fetched."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from nanobot.plugins.events.burst import MOST
from nanobot.plugins.events.globs import Globs

Change: TypeAlias = Literal["new", "changed", "gone"]
_GATHER_MS = 400
_STEP_MS = 200
_WAKE_MS = 5_000
# Counting all folders of a machine takes seconds.
_AGAIN_SECONDS = 600.0
_CHANGES: Mapping[int, Change] = {1: "new", 2: "changed", 3: "gone"}
_KEPT = 4 * MOST
MOST_FOLDERS = 50_000
"""Maximum folders under a watched one, including targets of links."""


class PathChanges(msgspec.Struct, frozen=True):
    """The changes since the last call: paths with their kind of change, and the total number of
    changes. `there`: whether the path exists. `trouble`: why it cannot be watched.
    """

    changes: Mapping[str, str] = {}
    total: int = 0
    there: bool = True
    trouble: str = ""


class WatchedPath:
    """Watches a folder (with everything under it if `recursive`) or one file. The path may appear
    and disappear; each call checks whether it exists.
    """

    def __init__(self, path: str, globs: Globs, *, recursive: bool) -> None:
        self.path = path
        self._place = Path(path).expanduser().absolute()
        self._globs = globs
        self._recursive = recursive
        self._watcher: _Watcher | None = None

    def take(self) -> PathChanges:
        """The changes since the last call. Blocks briefly."""
        try:
            status = self._place.stat()
            is_folder = self._place.is_dir()
            folder = self._place if is_folder else self._place.parent
            status = status if is_folder else folder.stat()
        except FileNotFoundError:
            if self._watcher is not None and not self._watcher.whole and self._parent_stays():
                return self._watcher.taken(there=False)  # a file, which may be replaced
            return self._gone()
        except OSError as error:
            self.close()
            return PathChanges(trouble=f"{self.path} cannot be looked at: {error.strerror}")
        identity = (status.st_dev, status.st_ino)
        before = self._watcher
        if before is not None and before.identity == identity and before.stays(time.monotonic()):
            return before.taken(there=True)
        self.close()
        only = None if is_folder else self._place
        self._watcher = _Watcher(folder, identity, self._globs, only, recursive=self._recursive)
        left = before.taken(there=True) if before is not None else PathChanges()
        return msgspec.structs.replace(left, trouble=self._watcher.trouble)

    def _parent_stays(self) -> bool:
        return self._watcher is not None and self._place.parent.is_dir()

    def _gone(self) -> PathChanges:
        left = self._watcher.taken(there=False) if self._watcher else PathChanges(there=False)
        self.close()
        return msgspec.structs.replace(left, trouble="")

    def close(self) -> None:
        """Stop watching; `take` starts again."""
        if self._watcher is not None:
            self._watcher.stop.set()
            self._watcher = None


class _Watcher:
    """A thread over one folder. `only`: the one file in it that is watched."""

    def __init__(
        self,
        folder: Path,
        identity: tuple[int, int],
        globs: Globs,
        only: Path | None,
        *,
        recursive: bool,
    ) -> None:
        self.identity = identity
        self.whole = only is None
        self.trouble = ""
        self.stop = threading.Event()
        self._folder = str(folder)
        self._globs = globs
        self._only = None if only is None else str(only)
        self._recursive = recursive and only is None
        self._lock = threading.Lock()
        self._changes: dict[str, str] = {}
        self._total = 0
        self._began, self._large = time.monotonic(), False
        self._begun = threading.Event()
        name = f"watching {self._folder}"
        threading.Thread(target=self._work, name=name, daemon=True).start()
        # Changes from here on must not be missed; large trees take time.
        self._begun.wait(30)

    def stays(self, now: float) -> bool:
        """Whether to keep this watcher; one with a trouble is replaced after a while."""
        return not self.trouble or (self._large and now < self._began + _AGAIN_SECONDS)

    def taken(self, *, there: bool) -> PathChanges:
        with self._lock:
            changes = PathChanges(self._changes, self._total, there, self.trouble)
            self._changes, self._total = {}, 0
        return changes

    def _work(self) -> None:
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - of an extra

        try:
            if self._recursive and (trouble := too_large(self._folder)):
                self.trouble, self._large = trouble, True
                return
            # Uses the layer under the public generators, because those do not report when watching
            # has begun.
            notify = RustNotify(
                [self._folder],
                debug=False,
                force_polling=False,
                poll_delay_ms=300,
                recursive=self._recursive,
                ignore_permission_denied=True,
            )
            self._begun.set()
            with notify:
                while not self.stop.is_set():
                    batch = notify.watch(_GATHER_MS, _STEP_MS, _WAKE_MS, self.stop)
                    if isinstance(batch, set):
                        self._note(batch)
        except (OSError, RuntimeError) as error:
            self.trouble = _why(self._folder, error)
        finally:
            self._begun.set()

    def _note(self, batch: set[tuple[int, str]]) -> None:
        for number, path in batch:
            if not self._meant(path):
                continue
            with self._lock:
                self._total += 1
                if path in self._changes or len(self._changes) < _KEPT:
                    before = self._changes.get(path)
                    self._changes[path] = then(before, _CHANGES.get(number, "changed"))

    def _meant(self, path: str) -> bool:
        if self._only is not None:
            return path == self._only
        below = path.removeprefix(self._folder).lstrip("/")
        return bool(below) and self._globs.fit(below)


def too_large(folder: str, most: int = MOST_FOLDERS) -> str:
    """Why a folder is too large to be watched recursively; "" if it is not. Targets of links are
    watched too, once per link: a link to `/` means the whole machine.
    """
    waiting, seen, linked = [(folder, frozenset[tuple[int, int]](), "")], 0, ""
    while waiting:
        place, above, link = waiting.pop()
        seen, linked = seen + 1, link or linked
        if seen > most:
            through = f" (link {linked} leads to {os.path.realpath(linked)})" if linked else ""
            return (
                f"{folder} is not watched: with what links in it lead to{through}, it has more "
                f"than {most:,} folders. Name folders further down, take the link away, or set "
                "recursive = false"
            )
        with suppress(OSError), os.scandir(place) as entries:
            status = Path(place).stat()
            inner = above | {(status.st_dev, status.st_ino)}
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir() and _identity(entry) not in inner:
                        # Only the outermost links: those behind them are outside the watched
                        # folder.
                        outer = link or entry.path * entry.is_symlink()
                        waiting.append((entry.path, inner, outer))
    return ""


def _identity(entry: os.DirEntry[str]) -> tuple[int, int]:
    status = entry.stat()
    return status.st_dev, status.st_ino


def then(before: str | None, change: Change) -> str:
    """The combination of two successive changes of a file."""
    if before == "new" and change == "changed":
        return "new"
    if before == "gone" and change == "new":
        return "changed"
    return change


def _why(folder: str, error: OSError | RuntimeError) -> str:
    text = f"{folder} cannot be watched: {getattr(error, 'strerror', '') or error}"
    if "watch limit" in str(error) or getattr(error, "errno", 0) == errno.ENOSPC:
        text += ". Raise the limit: sysctl fs.inotify.max_user_watches=524288"
    return text
