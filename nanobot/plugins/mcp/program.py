"""Starts a server's program: in the sandbox with the grants in its table, or without it."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from loguru import logger

from nanobot.errors import ToolError
from nanobot.plugins.common.processes import kill
from nanobot.plugins.common.walls import AloneWall, NetworkAccess, SandboxProcess
from nanobot.plugins.mcp.connection_state import MAX_MESSAGE_BYTES, ConnectionState, ServerTrouble
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.settings import McpSettings


@asynccontextmanager
async def started(
    name: str,
    settings: McpSettings,
    base: Mapping[str, str],
    place: ServerPlace,
    line: ConnectionState,
) -> AsyncIterator[SandboxProcess]:
    """The running program of server `name`; `base` and its own `env` are its environment. `line` is
    told if the program runs without a sandbox. Raises ServerTrouble.
    """
    words = (settings.command, *settings.args)
    environment = {**base, **settings.env}
    folder = place.enter(name, words, environment.get("PATH", os.defpath))
    line.exposed = await _exposed(settings, place)
    if line.exposed:
        async with AsyncExitStack() as stack:
            wall = None
            if settings.sandbox != "off" and place.walls.not_alone() is None:
                view = place.view(name, settings, environment)
                wall = await stack.enter_async_context(place.walls.alone(view))
                line.exposed += "; Landlock alone keeps files from it"
            logger.warning("MCP server {} runs without a sandbox: {}", name, line.exposed)
            process = await _bare(words, environment, folder, wall)
            stack.callback(kill, process)
            yield SandboxProcess(process)
        return
    if shutil.which(settings.command, path=environment.get("PATH", os.defpath)) is None:
        raise ServerTrouble(f"{settings.command} cannot be started ({_unstarted(settings)})")
    try:
        view = place.view(name, settings, environment)
        async with place.walls.running(
            words, view, stdin=PIPE, stderr=PIPE, line_limit=MAX_MESSAGE_BYTES
        ) as program:
            yield program
    except ToolError as error:
        raise ServerTrouble(f"it cannot be started in the sandbox: {error}") from error


def _unstarted(settings: McpSettings) -> str:
    """Why a program cannot be started: it does not exist, or it is not executable."""
    found = os.sep in settings.command and Path(settings.command).exists()
    return os.strerror(errno.EACCES if found else errno.ENOENT)


async def _exposed(settings: McpSettings, place: ServerPlace) -> str:
    """Why a program runs without a sandbox, "" if it does not. Raises ServerTrouble if that is not
    permitted.
    """
    if settings.sandbox == "off":
        return "its `sandbox` is off"
    network = NetworkAccess(mode=settings.network, hosts=settings.hosts)
    why = await place.walls.probe(network) or ""
    if why and settings.sandbox == "bwrap":
        raise ServerTrouble(f"it runs in a sandbox only, and {why}")
    return why


async def _bare(
    words: Sequence[str], environment: Mapping[str, str], folder: Path, wall: AloneWall | None
) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *words if wall is None else [*wall.words, *_absolute(words, environment)],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**environment, **({} if wall is None else wall.environment)},
            pass_fds=() if wall is None else wall.descriptors,
            cwd=folder,
            start_new_session=True,
            limit=MAX_MESSAGE_BYTES,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ServerTrouble(f"{words[0]} cannot be started ({reason})") from error


def _absolute(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    program = shutil.which(words[0], path=environment.get("PATH", os.defpath))
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return [program, *words[1:]]


def hindrance(name: str, settings: McpSettings, program: SandboxProcess | None) -> str:
    """The part of its table that may keep a sandboxed program from working; "" if none does."""
    hosts = ", ".join(program.refused) if program else ""
    if hosts:
        return f" (it was not let through to {hosts}: mcp.{name}.hosts)"
    granted = [Path(path).expanduser() for path in (*settings.read, *settings.write)]
    for word in settings.args:
        path = Path(word)
        seen = any(path.is_relative_to(grant) for grant in granted)
        if path.is_absolute() and path.is_dir() and not seen:
            return f" (it does not see {path}: mcp.{name}.read or mcp.{name}.write grants it)"
    return ""
