"""Commands in bubblewrap: the workspace is writable, the system read-only, everything else
invisible.
"""

from __future__ import annotations

import asyncio
import copy
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec

from nanobot.errors import ConfigError, ToolError
from nanobot.log_context import sent
from nanobot.plugins.common.files.protected import protected_paths
from nanobot.plugins.common.processes import end
from nanobot.plugins.common.walls import NetworkAccess, SandboxProcess, SandboxView
from nanobot.plugins.shell.capture import Capture
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap
from nanobot.plugins.shell.sandbox.control_group import grouped
from nanobot.plugins.shell.sandbox.file_wall import AloneWall, alone, no_wall_alone
from nanobot.plugins.shell.sandbox.view import SEARCH_PATH
from nanobot.text import Sentence

# Only these environment variables of the caller are visible inside; all others may contain keys.
_ENVIRONMENT = frozenset({"PATH", "LANG", "LC_ALL", "TZ"})
# Where programs installed for the user are, under HOME.
_PROGRAMS = (".local/bin", ".cargo/bin", "go/bin")
_LIBRARIES = (".local/lib",)

Walls = Literal["all", "files", "none"]
"""The walls around a command: bubblewrap, only Landlock, or none."""


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a command."""

    output: str
    """stdout and stderr in order."""
    dropped: int
    """Bytes that are missing in the middle."""
    exit_code: int | None
    """None if it was killed because it `timed_out` or `flooded`."""
    timed_out: bool = False
    flooded: bool = False
    refused: tuple[str, ...] = ()
    """The hosts to which it was denied access, as entries of a HostList."""


class Sandbox:
    """Runs commands that see the workspace, a read-only system, and no other files of the user.

    Inside there are only a few fixed environment variables, no other processes, no capabilities,
    and nothing that `walls` hide, even inside the workspace. `home` is their HOME, a folder shared
    by trusted commands (see `fitting`); None: each gets an empty one. `protected` are workspace
    names that only trusted commands may write. When `run` ends, for any reason, everything the
    command started is killed.

    With weaker walls (see `behind`), it is for commands that a person approved. With `files`,
    Landlock limits them to the same files, and denies local sockets and, if they have no network,
    the network. With `none`, only the limits and the clean environment apply. If there are no
    control groups, processes that leave the process group survive in both cases.
    """

    def __init__(
        self,
        walls: Bubblewrap,
        *,
        apart: Sequence[Path] = (),
        protected: Sequence[str] = (),
        home: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._walls = walls
        self._standing: Walls = "all"
        self._shared = False
        self._guarded = False
        self._apart = tuple(apart)
        self._protected = tuple(protected)
        self._home = home
        self._environment = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "TERM": "dumb"} | {
            name: value for name, value in (environment or {}).items() if name in _ENVIRONMENT
        }
        self._shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"

    @property
    def is_bare(self) -> bool:
        """Whether it runs without bubblewrap."""
        return self._standing != "all"

    def behind(self, walls: Walls) -> Sandbox:
        """The same sandbox with these walls; if `files` is not available, with none."""
        return self._like(standing="none" if walls == "files" and no_wall_alone() else walls)

    def shared(self) -> Sandbox:
        """The same sandbox for chats with other readers than the owner: `apart` is hidden too."""
        return self._like(shared=True)

    def guarded(self) -> Sandbox:
        """The same sandbox for calls that others may have caused: `protected` is read-only, and of
        HOME only the installed programs are visible.
        """
        return self._like(guarded=True)

    def fitting(self, *, private: bool, trusted: bool) -> Sandbox:
        """The sandbox for a call whose result only an owner reads (`private`), and that no one else
        can have caused (`trusted`).
        """
        sandbox = self if private else self.shared()
        return sandbox if trusted else sandbox.guarded()

    def _like(self, **changes: bool | Walls) -> Sandbox:
        other = copy.copy(self)
        other.__dict__.update({f"_{name}": value for name, value in changes.items()})
        return other

    async def probe(self, network: NetworkAccess) -> Sentence | None:
        """None if commands can be run, else the reason in one line. Tested once, then cached."""
        return await self._walls.probe(network)

    async def run(
        self,
        command: str,
        workspace: Path,
        *,
        network: NetworkAccess,
        timeout: float,
        keep: int = 40_000,
    ) -> CommandResult:
        """Run a command and wait for its end; `keep` bytes of each end of its output are kept.

        Cancelling kills it. Raises ToolError if it cannot be started.
        """
        timed_out = False
        async with self.running(command, workspace, network=network, stdin=DEVNULL) as started:
            process = started.process
            capture = Capture(process, keep, self._walls.limits.output_bytes)
            try:
                async with asyncio.timeout(timeout):
                    await capture.until_end()
                    await process.wait()
            except TimeoutError:
                timed_out = True
            finally:
                await capture.kill()
        killed = timed_out or capture.flooded
        return CommandResult(
            output=capture.text(),
            dropped=capture.dropped,
            exit_code=None if killed else process.returncode,
            timed_out=timed_out,
            flooded=capture.flooded,
            refused=started.refused,
        )

    @asynccontextmanager
    async def running(
        self, command: str, workspace: Path, *, network: NetworkAccess, stdin: int = PIPE
    ) -> AsyncIterator[SandboxProcess]:
        """A running command for the duration of the context, its output piped; at the end it is
        killed with everything it started. Raises ToolError if it cannot be started, and ConfigError
        if the workspace is hidden.
        """
        workspace = workspace.resolve()  # noqa: ASYNC240 - a look at a few links
        if workspace in self._walls.hidden:
            raise ConfigError(f"workspace: {workspace} holds secrets: name a separate folder")
        words = [self._shell, "-c", command]
        if self._standing == "none":
            async with self._bare(words, workspace, stdin) as process:
                yield SandboxProcess(process)
            return
        view = self._view(workspace, network)
        if self._standing == "files":
            async with alone(view) as wall, self._bare(words, workspace, stdin, wall) as process:
                yield SandboxProcess(process)
            return
        async with self._walls.running(words, view, stdin=stdin, stderr=STDOUT) as started:
            yield started

    def _view(self, workspace: Path, network: NetworkAccess) -> SandboxView:
        home = self._home or Path("/tmp/home")  # noqa: S108 - the sandbox's own
        kept = self._home is not None and not self._guarded
        if kept:
            home.mkdir(0o700, parents=True, exist_ok=True)
        installed = (home / name for name in (*_PROGRAMS, *_LIBRARIES))
        return SandboxView(
            folder=workspace,
            home=home,
            write=(home,) if kept else (),
            empty=() if kept else (home,),
            read=() if kept else tuple(path for path in installed if path.is_dir()),
            read_only=protected_paths(workspace, self._protected) if self._guarded else (),
            hidden=self._apart if self._shared else (),
            environment=self._variables(home),
            network=network,
        )

    def _variables(self, home: Path) -> dict[str, str]:
        programs = (str(home / name) for name in _PROGRAMS)
        path = ":".join([self._environment["PATH"], *programs])
        own = {"PATH": path, "NPM_CONFIG_PREFIX": str(home / ".local")}
        # What accompanies the requests of the run, for commands that make some.
        headers = {name.upper().replace("-", "_"): value for name, value in sent().items()}
        return {**self._environment, **headers, **own}

    @asynccontextmanager
    async def _bare(
        self,
        words: Sequence[str],
        workspace: Path,
        stdin: int,
        wall: AloneWall | None = None,
    ) -> AsyncIterator[Process]:
        home = self._home or workspace
        if self._home is not None:
            home.mkdir(0o700, parents=True, exist_ok=True)
        variables = {**self._variables(home), "HOME": str(home)}
        limits = self._walls.limits
        behind = [] if wall is None else wall.words
        with grouped([*behind, *limits.shell(words)], limits) as grouped_words:
            try:
                process = await asyncio.create_subprocess_exec(
                    *grouped_words,
                    stdin=stdin,
                    stdout=PIPE,
                    stderr=STDOUT,
                    cwd=workspace,
                    env=variables if wall is None else {**variables, **wall.environment},
                    pass_fds=() if wall is None else wall.descriptors,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise ToolError(f"the command cannot be started: {error}") from error
            try:
                yield process
            finally:
                await end(process)
