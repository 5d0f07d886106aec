"""The tool for background commands: reads their output, writes to their input, ends them."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

import msgspec

from nanobot.errors import ToolArgumentsError
from nanobot.messages import Role
from nanobot.plugins.common.walls import NetworkAccess
from nanobot.plugins.shell.sandbox.sandbox import Walls
from nanobot.tools.base import CallContext, Effect, Tool

MAX_WAIT_SECONDS = 60.0


class RunningCommands(Protocol):
    """The background commands, as far as the tool may access them. Each method raises ToolError for
    an id from another session.
    """

    async def start(
        self, command: str, context: CallContext, *, network: NetworkAccess, walls: Walls
    ) -> int:
        """Start a command; returns its id."""

    def is_online(self, identity: int, session_key: str) -> bool:
        """Whether a command can reach the network; False for an unknown one."""

    def has_outside(self, identity: int, session_key: str) -> bool:
        """Whether a command's output may be untrusted; False for an unknown one."""

    def lines(self, session_key: str) -> list[str]:
        """The session's commands, one per line."""

    async def output(self, identity: int, session_key: str, wait: float) -> str:
        """A command's output, after waiting at most `wait` seconds for its end."""

    async def feed(self, identity: int, session_key: str, text: str, *, end: bool) -> None:
        """Write to its standard input; `end` closes it."""

    def stop(self, identity: int, session_key: str, by: str) -> None:
        """Kill it with everything it started."""


class ProcessArgs(msgspec.Struct, frozen=True):
    """Arguments of process."""

    action: Annotated[
        Literal["list", "output", "input", "stop"],
        msgspec.Meta(description="What to do with the command"),
    ]
    id: Annotated[int, msgspec.Meta(ge=0, description="Its number; not for list")] = 0
    text: Annotated[
        str, msgspec.Meta(description="For input: what to write; a line ends with \\n")
    ] = ""
    end: Annotated[bool, msgspec.Meta(description="For input: close it afterwards")] = False
    wait: Annotated[
        float,
        msgspec.Meta(ge=0, le=MAX_WAIT_SECONDS, description="For output: seconds for its end"),
    ] = 0.0


def process_tool(running: RunningCommands) -> Tool[ProcessArgs]:
    """process, for owners: manages the background commands that `exec` started."""

    async def run(args: ProcessArgs, context: CallContext) -> str:
        key = context.session_key
        if args.action == "list":
            return "\n".join(running.lines(key)) or "No command of this conversation is known."
        if not args.id:
            raise ToolArgumentsError(f"id: {args.action} needs the number that exec gave")
        if args.action == "output":
            return await running.output(args.id, key, args.wait)
        if args.action == "input":
            await running.feed(args.id, key, args.text, end=args.end)
            return f"Written to #{args.id}."
        running.stop(args.id, key, "the assistant")
        return f"#{args.id} is being killed."

    def is_online(args: ProcessArgs, context: CallContext) -> bool:
        return running.is_online(args.id, context.session_key)

    return Tool(
        name="process",
        description=(
            "Look after commands that exec started in the background: list them, read their "
            "output, write to their input, stop them."
        ),
        args=ProcessArgs,
        run=run,
        effect=Effect.WORLD,
        taints=lambda args, context: running.has_outside(args.id, context.session_key),
        sends=lambda args, context: args.action == "input" and is_online(args, context),
        risk="low",
        timeout=MAX_WAIT_SECONDS + 10,
        allowed=frozenset({Role.OWNER}),
        rest="Send the output to a file and read that, or filter it.",
    )
