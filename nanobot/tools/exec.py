"""The tool that runs commands, for owners, inside the sandbox only."""

from __future__ import annotations

from pathlib import Path
from signal import Signals
from typing import Annotated

import msgspec

from nanobot.bus.events import Role
from nanobot.errors import ToolArgumentsError, ToolDenied, ToolTimeout
from nanobot.tools.base import CallContext, Effect, Tool
from nanobot.tools.result import MAX_RESULT_CHARS, clean, shorten
from nanobot.tools.sandbox import Outcome, Sandbox

DEFAULT_SECONDS = 60.0
MAX_SECONDS = 600.0
# The kernel takes 128 KiB for one argument of a program.
MAX_COMMAND_BYTES = 100_000
# Beyond the command's own time: starting, killing, reading what is left.
_GRACE_SECONDS = 30.0
_NOTES = 200
_REST = "Send the output to a file and read that, or filter it."


class Exec(msgspec.Struct, frozen=True):
    """Arguments of exec."""

    command: Annotated[str, msgspec.Meta(min_length=1, description="A shell command line")]
    timeout: (
        Annotated[float, msgspec.Meta(gt=0, le=MAX_SECONDS, description="Seconds, at most 600")]
        | None
    ) = None


class _Shell:
    def __init__(
        self, sandbox: Sandbox, workspace: Path, *, network: bool, timeout: float, room: int
    ) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._network = network
        self._timeout = timeout
        self._room = room

    async def run(self, args: Exec, context: CallContext) -> str:
        size = len(args.command.encode("utf-8", "replace"))
        if "\0" in args.command or size > MAX_COMMAND_BYTES:
            raise ToolArgumentsError(
                f"command: at most {MAX_COMMAND_BYTES:,} bytes and no NUL; "
                "write a long script to a file and run that"
            )
        why = await self._sandbox.probe(network=self._network)
        if why is not None:
            raise ToolDenied(f"commands run only in a sandbox, and {why}")
        timeout = args.timeout or self._timeout
        outcome = await self._sandbox.run(
            args.command,
            self._workspace,
            network=self._network,
            timeout=timeout,
            # A character is at most four bytes: each end alone fills the room.
            keep=self._room * 4,
        )
        output = shorten(clean(outcome.output), self._room, _REST, outcome.dropped).rstrip("\n")
        if outcome.timed_out:
            raise ToolTimeout(
                f"stopped after {timeout:g} s, with everything it had started. "
                f"Its output until then:\n{output or '(none)'}"
            )
        return f"{output}\n[{_ending(outcome)}]" if output else f"[{_ending(outcome)}; no output]"


def _ending(outcome: Outcome) -> str:
    if outcome.flooded:
        return f"killed: too much output. {_REST}"
    code = outcome.exit_code or 0
    try:
        return (
            f"exit code {code}, {Signals(code - 128).name}" if code > 128 else f"exit code {code}"
        )
    except ValueError:
        return f"exit code {code}"


def exec_tool(
    sandbox: Sandbox,
    workspace: Path,
    *,
    network: bool = True,
    timeout: float = DEFAULT_SECONDS,
    result_chars: int = MAX_RESULT_CHARS,
) -> Tool[Exec]:
    """exec, for owners. Where the sandbox does not work every call is denied, with the remedy.

    The result is the output (stdout and stderr as they came, at most `result_chars`) and how the
    command ended; a failing command is a result, one that takes too long is a ToolTimeout.
    """
    shell = _Shell(
        sandbox, workspace, network=network, timeout=timeout, room=max(result_chars - _NOTES, 1)
    )
    return Tool(
        name="exec",
        description=(
            "Run a shell command in the workspace, in a sandbox: the workspace is writable, the "
            f"system read-only, {'the network open' if network else 'there is no network'}. "
            "What it leaves running is killed when it ends."
        ),
        args=Exec,
        run=shell.run,
        effect=Effect.WORLD,
        timeout=MAX_SECONDS + _GRACE_SECONDS,
        allowed=frozenset({Role.OWNER}),
        rest=_REST,
    )
