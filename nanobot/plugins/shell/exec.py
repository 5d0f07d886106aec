"""The tool that runs commands in the sandbox, or without it if a person approved."""

from __future__ import annotations

import json
from pathlib import Path
from signal import Signals
from typing import Annotated, Literal

import msgspec

from nanobot.errors import ToolArgumentsError, ToolDenied, ToolTimeout
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.typed import by_words
from nanobot.plugins.common.walls import NO_NETWORK, NetworkAccess
from nanobot.plugins.shell.allowed_hosts import AllowedHosts
from nanobot.plugins.shell.process import RunningCommands
from nanobot.plugins.shell.sandbox.hosts import HostList, is_entry
from nanobot.plugins.shell.sandbox.sandbox import CommandResult, Sandbox, Walls
from nanobot.plugins.shell.typed import is_typed
from nanobot.text import MAX_RESULT_CHARS, Sentence, clean, quoted, shorten
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput

DEFAULT_SECONDS = 60.0
MAX_SECONDS = 600.0
# The kernel accepts 128 KiB for one argument of a program.
MAX_COMMAND_BYTES = 100_000
# Time beyond the command's own: starting, killing, reading the rest.
_GRACE_SECONDS = 30.0
_NOTES = 200
_MARKED = (
    "it has the network and names {file}, which holds content from outside. Without the network it "
    "runs; with it a person is asked if you call again"
)
_CUT_OFF = (
    "\n[from the moment on that it opened {file}, which holds content from outside, it sent "
    "nothing more: if it is needed, call again, and a person is asked]"
)
# The shell parser is loaded with the first command, where it is called: few conversations have one.
_REST = "Send the output to a file and read that, or filter it."


class ExecArgs(msgspec.Struct, frozen=True):
    """Arguments of exec."""

    command: Annotated[str, msgspec.Meta(min_length=1, description="A shell command line")]
    network: (
        Annotated[
            bool,
            msgspec.Meta(
                description="Whether it needs the network. Left out: only programs that are known "
                "to need it (curl, pip install, git clone ...) get it"
            ),
        ]
        | None
    ) = None
    hosts: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=300)], ...],
        msgspec.Meta(
            max_length=20,
            description="Hosts it was refused and needs, as example.org or example.org:8443: a "
            "person is asked",
        ),
    ] = ()
    timeout: (
        Annotated[float, msgspec.Meta(gt=0, le=MAX_SECONDS, description="Seconds, at most 600")]
        | None
    ) = None
    background: Annotated[
        bool,
        msgspec.Meta(
            description="Return at once; `process` reads its output, and you are told of its end"
        ),
    ] = False


class ExecOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for running commands. `isolation`: "required" refuses commands if the sandbox does
    not work; "wanted" then runs them after a person's approval, behind Landlock alone if the kernel
    has it; "off" always runs them without a sandbox, with a person's approval. `network`: the hosts
    they can reach. `result_chars`: how much of their output is shown.
    """

    isolation: Literal["required", "wanted", "off"] = "wanted"
    network: NetworkAccess = NO_NETWORK
    timeout: float = DEFAULT_SECONDS
    result_chars: int = MAX_RESULT_CHARS


class _Shell:
    def __init__(
        self,
        sandbox: Sandbox,
        workspace: Path,
        options: ExecOptions,
        background: RunningCommands | None,
        taint: TaintedFiles,
        allowed: AllowedHosts | None,
    ) -> None:
        self._taint = taint
        self._allowed = allowed
        self._sandbox = sandbox
        self._workspace = workspace
        self._options = options
        self._background = background
        self._room = max(options.result_chars - _NOTES, 1)
        self._ran_bare = False

    async def run(self, args: ExecArgs, context: CallContext) -> str | ToolOutput:
        size = len(args.command.encode("utf-8", "replace"))
        if "\0" in args.command or size > MAX_COMMAND_BYTES:
            raise ToolArgumentsError(
                f"command: at most {MAX_COMMAND_BYTES:,} bytes and no NUL; "
                "write a long script to a file and run that"
            )
        for host in args.hosts:
            if not is_entry(host):
                raise ToolArgumentsError(f"hosts: {quoted(host)} is not a host, like example.org")
        network = await self._network(args, context)
        walls = await self._walls(context, network)
        online = network.mode != "none"
        if online and not context.approved and (file := await self._taint.named_in(args.command)):
            # Its result is then tainted, so that repeating the call needs a person's approval.
            return ToolOutput(f"not executed: {_MARKED.format(file=quoted(file))}", tainted=True)
        if not args.background:
            sandbox = self._sandbox.fitting(private=context.alone, trusted=context.trusted)
            return await self._watched(args, context, sandbox.behind(walls), network)
        if self._background is None:
            raise ToolDenied("nothing can run in the background here")
        number = await self._background.start(args.command, context, network=network, walls=walls)
        return f"Started in the background as #{number}. You are told when it ends."

    async def _watched(
        self, args: ExecArgs, context: CallContext, sandbox: Sandbox, network: NetworkAccess
    ) -> ToolOutput:
        """Run it, and track its reads and changes of files with untrusted content."""
        online = network.mode != "none"
        from nanobot.plugins.shell.network import brings_files  # noqa: PLC0415 - see above

        brings = sandbox.is_bare or (online and brings_files(args.command))
        async with self._taint.command(
            context.key, tainted=context.tainted, brings=brings, label=context.label
        ) as watch:
            kept = online and not context.approved
            if kept:
                network = msgspec.structs.replace(network, may_send=watch.read_none)
            try:
                text = await self._wait(args, sandbox, network)
                tainted = watch.read_marked() or await self._taint.names_tell(text)
                if kept and watch.read_marked():
                    text += _CUT_OFF.format(file=quoted(watch.opened))
                label = await self._taint.label_of_all(watch.paths())
                return ToolOutput(text, tainted=tainted, label=label)
            except ToolTimeout as timeout:
                if not watch.read_marked():
                    raise
                return ToolOutput(str(timeout), tainted=True, failed=True)

    def wants_network(self, args: ExecArgs, _: CallContext) -> bool:
        """Whether the command requests the network, and the configuration permits it."""
        from nanobot.plugins.shell.network import needs_network  # noqa: PLC0415 - see above

        is_needed = needs_network(args.command) if args.network is None else args.network
        return self._options.network.mode != "none" and (is_needed or bool(args.hosts))

    def taints(self, args: ExecArgs, context: CallContext) -> bool:
        """Whether its output may be untrusted, which is so if it can reach the network."""
        return not args.background and (self._ran_bare or self._online(args, context))

    async def needs_approval(self, args: ExecArgs, context: CallContext) -> Sentence:
        """Why the hosts that it names need approval; "" if they do not."""
        if self._options.network.mode != "hosts" or not self._online(args, context):
            return ""
        reached = HostList(await self._hosts(args, context))
        beyond = [host for host in _named(args) if not reached.allows(*_split(host))]
        if not beyond:
            return ""
        return (
            f"it connects to {', '.join(beyond)}, which is not among the hosts that commands may "
            "reach (tools.exec.hosts)"
        )

    def _online(self, args: ExecArgs, context: CallContext) -> bool:
        # Untrusted content may have written this command: it must not send anything out.
        return self.wants_network(args, context) and (context.approved or not context.tainted)

    async def _network(self, args: ExecArgs, context: CallContext) -> NetworkAccess:
        if not self._online(args, context):
            return NO_NETWORK
        if self._options.network.mode == "all":
            return self._options.network
        return NetworkAccess(mode="hosts", hosts=tuple(await self._hosts(args, context)))

    async def _hosts(self, args: ExecArgs, context: CallContext) -> list[str]:
        """The hosts that a call may reach: configured ones, hosts always allowed in the
        conversation, and hosts approved with this call.
        """
        hosts = [*self._options.network.hosts]
        if context.approved:
            hosts += _named(args)
        if self._allowed is not None and not context.tainted:
            hosts += await self._allowed.allowed_hosts(context.session_key)
        return hosts

    @staticmethod
    def danger(args: ExecArgs) -> Sentence:
        """The dangers of the command line, for the approval request."""
        # Loads the whole command line parser, which many assistants never need.
        from nanobot.plugins.shell.dangerous_commands import command_risks  # noqa: PLC0415

        return " and ".join(risk.why for risk in command_risks(args.command))

    async def uncontained(self) -> str | None:
        """Why a command needs approval because of where it runs; None if it does not, or if
        approval would not help.
        """
        if self._options.isolation == "required":
            return None
        return await self._walls_missing(self._options.network)

    async def _walls_missing(self, network: NetworkAccess) -> str | None:
        if self._options.isolation == "off":
            return "it is switched off"
        return await self._sandbox.probe(network)

    async def _walls(self, context: CallContext, network: NetworkAccess) -> Walls:
        """The walls to run behind; fewer than all need a person's approval. Raises ToolDenied."""
        why = await self._walls_missing(network)
        if why is None:
            return "all"
        if self._options.isolation == "required" or not context.approved:
            raise ToolDenied(f"commands run only in a sandbox, and {why}")
        self._ran_bare = True
        return "none" if self._options.isolation == "off" else "files"

    async def _wait(self, args: ExecArgs, sandbox: Sandbox, network: NetworkAccess) -> str:
        timeout = args.timeout or self._options.timeout
        outcome = await sandbox.run(
            args.command,
            self._workspace,
            network=network,
            timeout=timeout,
            # A character has at most four bytes: each end alone fills the room.
            keep=self._room * 4,
        )
        output = shorten(clean(outcome.output), self._room, _REST, outcome.dropped).rstrip("\n")
        if outcome.refused:
            output += _refused(outcome.refused)
        if outcome.timed_out:
            raise ToolTimeout(
                f"stopped after {timeout:g} s, with everything it had started. "
                f"Its output until then:\n{output or '(none)'}"
            )
        return f"{output}\n[{_ending(outcome)}]" if output else f"[{_ending(outcome)}; no output]"


def _named(args: ExecArgs) -> list[str]:
    """The hosts in a call's arguments, as entries of a HostList."""
    from nanobot.plugins.shell.network import named_hosts  # noqa: PLC0415 - see above

    return list(dict.fromkeys((*args.hosts, *filter(is_entry, named_hosts(args.command)))))


def _split(entry: str) -> tuple[str, int]:
    """A host that the entry allows."""
    host, colon, port = entry.rpartition(":")
    if not colon or not port.isdecimal() or host.endswith(":"):
        host, port = entry, "443"
    return host.strip("[]").lower().rstrip("."), int(port)


def _refused(hosts: tuple[str, ...]) -> str:
    """The hosts to which a command was denied access, and the remedy."""
    return (
        f"\n[not reached, because they are not on the list of hosts for commands: "
        f"{', '.join(hosts)}. If it is needed, call exec again with hosts={json.dumps(hosts)}: "
        "a person is asked then. An owner can add hosts to tools.exec.hosts]"
    )


def _ending(outcome: CommandResult) -> str:
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
    options: ExecOptions = ExecOptions(),  # noqa: B008 - frozen
    background: RunningCommands | None = None,
    taint: TaintedFiles | None = None,
    allowed: AllowedHosts | None = None,
) -> Tool[ExecArgs]:
    """The tool exec. If the sandbox does not work, every call is denied with the remedy, unless a
    person approved it.

    The result is the output (stdout and stderr in order) and how the command ended. A failing
    command is a result; one that takes too long is a ToolTimeout. Commands that need the network
    get it; in a run that has seen untrusted content, only if a person approved that very call.
    Unlisted hosts need approval if the call names them.
    """
    taint = taint or TaintedFiles(workspace, MemoryMarks())
    shell = _Shell(sandbox, workspace, options, background, taint, allowed)
    net = "no network unless it is asked for" if options.network.mode != "none" else "no network"
    return Tool(
        name="exec",
        description=(
            "Run a shell command in the workspace, in a sandbox: the workspace is writable, the "
            f"system read-only, and {net}. What it leaves running is killed when it ends."
        ),
        args=ExecArgs,
        run=shell.run,
        effect=Effect.WORLD,
        taints=shell.taints,
        sends=shell.wants_network,
        timeout=MAX_SECONDS + _GRACE_SECONDS,
        rest=_REST,
        uncontained=shell.uncontained,
        danger=shell.danger,
        needs_approval=shell.needs_approval,
        typed=by_words(is_typed),
    )
