"""The walls around programs: what a program sees of the machine, and which hosts it reaches. The
plugin `shell` builds them, on or off.
"""

from __future__ import annotations

from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import ToolError
from nanobot.plugins.common.keys.tool_settings import WebTable
from nanobot.seam.installed import Interface, provided
from nanobot.text import Sentence


class NetworkAccess(msgspec.Struct, frozen=True, kw_only=True):
    """A program's network access. none: nothing. hosts: over HTTP(S) the hosts in `hosts`, through
    a proxy, while `open` allows it before each connection and `may_send` before each chunk sent.
    all: whatever this machine reaches, including its own services.
    """

    mode: Literal["hosts", "none", "all"] = "none"
    hosts: tuple[str, ...] = ()
    open: Callable[[], Awaitable[bool]] | None = None
    may_send: Callable[[], bool] | None = None


NO_NETWORK = NetworkAccess()


class SandboxView(msgspec.Struct, frozen=True, kw_only=True):
    """The files and variables that a program sees, in addition to the system. Paths are the same as
    outside."""

    folder: Path | None = None
    """It starts there, and may write there."""
    home: Path
    """Its HOME."""
    read: tuple[Path, ...] = ()
    """Further paths that it may read."""
    write: tuple[Path, ...] = ()
    """Further paths that it may write."""
    empty: tuple[Path, ...] = ()
    """Private folders that are deleted with it."""
    read_only: tuple[Path, ...] = ()
    """Write-protected, inside writable ones."""
    hidden: tuple[Path, ...] = ()
    """They do not exist for it."""
    environment: Mapping[str, str] = {}
    """All of its environment."""
    network: NetworkAccess = NO_NETWORK


class SandboxProcess:
    """A started program. `refused`: the hosts to which it was denied access, as entries of a list
    of hosts, while they are added."""

    def __init__(self, process: Process, refused: Collection[str] = ()) -> None:
        self.process = process
        self._refused = refused

    @property
    def refused(self) -> tuple[str, ...]:
        """The hosts to which it was denied access so far."""
        return tuple(self._refused)


class AloneWall(Protocol):
    """How to start a program behind a wall for its files only: the `words` before its own, the
    `environment` that it needs, and the `descriptors` that it inherits."""

    words: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...]


class Walls(Protocol):
    """Starts programs that see only what a SandboxView contains, and nothing that is hidden."""

    async def probe(self, network: NetworkAccess) -> Sentence | None:
        """None if programs can be started, else the reason in one line. Tested once."""

    def running(
        self,
        words: Sequence[str],
        view: SandboxView,
        *,
        stdin: int = DEVNULL,
        stderr: int = PIPE,
        line_limit: int = 65_536,
    ) -> AbstractAsyncContextManager[SandboxProcess]:
        """A running program for the duration of the context; at the end it is killed with
        everything it has started. Raises ToolError if it cannot be started."""

    def not_alone(self) -> Sentence | None:
        """Why nothing can protect files where `probe` gives a reason; None if something can."""

    def alone(self, view: SandboxView) -> AbstractAsyncContextManager[AloneWall]:
        """The wall for such programs, for the duration of the context."""

    def own_files(self, program: Path, guarded: Collection[Path]) -> list[Path]:
        """The files and folders that a program needs to start, never a folder that contains one of
        `guarded`."""

    def projects_of(self, script: Path, guarded: Collection[Path]) -> list[Path]:
        """The folder of the project of a script, and packages linked into it from other places."""


class NoWalls:
    """Walls where no plugin builds any: nothing can be started behind them."""

    async def probe(self, network: NetworkAccess) -> Sentence | None:
        """The reason."""
        return self.not_alone()

    def running(
        self,
        words: Sequence[str],
        view: SandboxView,
        *,
        stdin: int = DEVNULL,
        stderr: int = PIPE,
        line_limit: int = 65_536,
    ) -> AbstractAsyncContextManager[SandboxProcess]:
        """Raises ToolError."""
        raise ToolError(self.not_alone())

    def not_alone(self) -> Sentence:
        """The reason."""
        return "no plugin of this nanobot provides a sandbox"

    def alone(self, view: SandboxView) -> AbstractAsyncContextManager[AloneWall]:
        """Raises ToolError."""
        raise ToolError(self.not_alone())

    def own_files(self, program: Path, guarded: Collection[Path]) -> list[Path]:
        """None: it is of no use to show any."""
        return []

    def projects_of(self, script: Path, guarded: Collection[Path]) -> list[Path]:
        """None: it is of no use to show any."""
        return []


WALLS: Interface[Callable[[Sequence[Path], Sequence[str]], Walls]] = Interface(name="walls")
"""Builds walls that hide these paths. Programs reach the public internet only, and the private
hosts and networks that are named (`tools.web.allow_private`)."""


def walls_of(config: Config) -> Walls:
    """The isolation of programs from the machine; it hides the home and the configuration. Raises
    ConfigError."""
    build = provided(WALLS)
    if build is None:
        return NoWalls()
    return build((config.home, config.file), config.of(WebTable).web.allow_private)
