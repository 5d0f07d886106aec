"""A copy of the workspace for one fork, and the tools that work in it."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from nanobot import labels
from nanobot.config.loader import Config
from nanobot.errors import ConfigError, ToolDenied, ToolError
from nanobot.labels import Privacy, Speaker
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.file_readers import FileReaders
from nanobot.plugins.common.files.tree import walk
from nanobot.plugins.common.keys.tool_settings import ExecSettings, ExecTable
from nanobot.plugins.common.places import COMMANDS, FILE_TOOLS, CommandPlace, FilePlace
from nanobot.plugins.common.policy.rules import STEERING
from nanobot.plugins.common.privacy import kept_apart, private_paths
from nanobot.providers.base import ToolCall
from nanobot.seam.installed import provided
from nanobot.tools.base import AnyTool, CallContext, ToolOutput
from nanobot.tools.registry import ToolRegistry

TOOLS = frozenset({"read_file", "write_file", "edit_file", "list_dir", "search_files", "exec"})
"""The tools that can work in a copy."""
FOLDER = "forks"
MOST_FILES = 20_000
MOST_BYTES = 500_000_000
KEPT_SECONDS = 7 * 86_400.0
"""How long a copy is kept after its last use."""
_CHUNK = 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LABEL = labels.of(Speaker.OUTSIDE, privacy=Privacy.PERSON)
"""The marks of files with content from outside are not copied, so every file counts as one."""


class BenchPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where copies are made, of what, and how commands run in them. `file`: the configuration.
    `readers` read documents (None: those of all installed plugins)."""

    home: Path
    workspace: Path
    file: Path
    commands: ExecSettings
    readers: FileReaders | None = None


def place_of(config: Config, readers: FileReaders | None = None) -> BenchPlace:
    """The place of copies in a home, whose files these read."""
    return BenchPlace(
        home=config.home,
        workspace=config.workspace,
        file=config.file,
        commands=config.of(ExecTable).exec,
        readers=readers,
    )


class Bench:
    """The copy for one fork. It is made with the first call that needs it, and stays for the next
    process if this one ends.
    """

    def __init__(self, place: BenchPlace, name: str, tools: ToolRegistry) -> None:
        self._place = place
        self._folder = place.home / FOLDER / name
        self._redact = tools.redact
        self._gateway = tools
        self._making = asyncio.Lock()
        self._tools: ToolRegistry | None = None

    async def perform(self, call: ToolCall, context: CallContext) -> ToolOutput:
        """Run a call in the copy, commands without the network. Raises ToolError."""
        async with self._making:
            if self._tools is None or not (self._folder / "workspace").is_dir():
                self._tools = await asyncio.to_thread(self._made)
        context = replace(context, session_key="", approved=False)
        output = await self._tools.perform(call.name, call.arguments, context)
        return replace(output, tainted=True, label=output.label.join(_LABEL), messages=())

    def _made(self) -> ToolRegistry:
        workspace = self._folder / "workspace"
        try:
            discard_old(self._place.home, time.time())
            if not workspace.is_dir():
                copy_workspace(self._place, workspace)
            os.utime(self._folder)
            roots = ConfinedFiles(workspace, hidden=(self._place.file,))
        except (OSError, ConfigError) as error:
            raise ToolError(f"the workspace could not be copied: {error}") from error
        registry = ToolRegistry(redact=self._redact)
        for tool in self._tools_over(workspace, roots):
            registry.register(tool)
        return registry

    def _file_tools(
        self, roots: ConfinedFiles, taint: TaintedFiles, apart: tuple[Path, ...]
    ) -> list[AnyTool]:
        make = provided(FILE_TOOLS)
        if make is None or self._gateway.tool("read_file") is None:
            return []
        place = FilePlace(roots=roots, taint=taint, readers=self._place.readers)
        return kept_apart(lambda over: make(replace(place, roots=over)), roots, apart)

    def _tools_over(self, workspace: Path, roots: ConfinedFiles) -> list[AnyTool]:
        taint = TaintedFiles(workspace, MemoryMarks(), expected=STEERING)
        apart = private_paths(workspace)
        files = self._file_tools(roots, taint, apart)
        make = provided(COMMANDS)
        if make is None or self._gateway.tool("exec") is None:
            return files
        place = CommandPlace(
            workspace=workspace,
            settings=replace(self._place.commands, sandbox="auto", network="none", hosts=()),
            isolation="required",
            hidden=(self._place.home, self._place.file),
            apart=apart,
            protected=STEERING,
            taint=taint,
        )
        return [*files, make(place)]


def copy_workspace(place: BenchPlace, into: Path) -> None:
    """Copy the workspace without hidden files, links that lead elsewhere, and special files. The
    copy appears whole or not at all. Raises ToolDenied if it is too large, and OSError.
    """
    into.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    into.parent.parent.chmod(0o700)
    making = into.with_name(f"making-{os.getpid()}-{time.monotonic_ns()}")
    making.mkdir(mode=0o700)
    try:
        _copy(place, making)
        making.rename(into)
    except OSError:
        if not into.is_dir():  # else another one was first
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _copy(bench: BenchPlace, into: Path) -> None:
    roots = ConfinedFiles(bench.workspace, hidden=(bench.home, bench.file))
    count = size = 0
    with roots.folder(".") as folder:
        for path, place, name in walk(folder, roots.hidden_keys(), folders=True):
            status = _status(name, place)
            if status is None:
                continue
            if stat.S_ISDIR(status.st_mode):
                (into / path).mkdir(mode=0o700)
                continue
            count, size = count + 1, size + status.st_size
            if count > MOST_FILES or size > MOST_BYTES:
                raise ToolDenied(
                    f"the workspace is too large to copy (at most {MOST_FILES:,} files and "
                    f"{MOST_BYTES // 1_000_000} MB), so this call cannot be tried"
                )
            if stat.S_ISLNK(status.st_mode):
                _copy_link(name, place, into / path)
            elif stat.S_ISREG(status.st_mode):
                _copy_file(name, place, into / path, status.st_mode)


def _status(name: str, place: int) -> os.stat_result | None:
    with suppress(OSError):  # removed in the meantime
        return os.stat(name, dir_fd=place, follow_symlinks=False)
    return None


def _copy_link(name: str, place: int, to: Path) -> None:
    """Copy a relative link; tools and commands do not follow one that leaves the copy."""
    with suppress(OSError):
        target = os.readlink(name, dir_fd=place)
        if not target.startswith("/"):
            to.symlink_to(target)


def _copy_file(name: str, place: int, to: Path, mode: int) -> None:
    """Copy a file, unless it was replaced by something else in the meantime."""
    try:
        source = os.open(name, _READ, dir_fd=place)
    except OSError:
        return
    with os.fdopen(source, "rb") as data:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            return
        with os.fdopen(os.open(to, _NEW, stat.S_IMODE(mode) & 0o700 | 0o600), "wb") as copy:
            shutil.copyfileobj(data, copy, _CHUNK)


def discard_old(home: Path, now: float) -> None:
    """Remove copies that were not used for a while."""
    with suppress(OSError):
        for each in (home / FOLDER).iterdir():
            if each.stat().st_mtime < now - KEPT_SECONDS:
                shutil.rmtree(each, ignore_errors=True)
