"""Background commands: started by exec, read and controlled by `process`, and reported to their
session when they end.

A command belongs to this process and dies with it. The store records which commands were running,
so that the next start reports once that they were lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Protocol

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import StoreError, ToolError
from nanobot.labels import Label
from nanobot.messages import Address, InboundMessage, Origin, Role, Sender
from nanobot.plugins.common.file_labels.opened_files import CommandWatch
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.processes import kill
from nanobot.plugins.common.times.looks import Looks
from nanobot.plugins.common.walls import NetworkAccess, SandboxProcess
from nanobot.plugins.shell.capture import Capture, label_of
from nanobot.plugins.shell.sandbox.sandbox import Sandbox, Walls
from nanobot.ports import Clock
from nanobot.retries import STORE_RETRY_SECONDS
from nanobot.session.entries import Entry, ErasedEntry, ToolResultEntry, UserEntry
from nanobot.session.inbox import Admission
from nanobot.session.labelling import Labelled, of_result
from nanobot.supervision import supervised
from nanobot.text import clean, shorten
from nanobot.tools.base import CallContext

MAX_RUNNING = 16
MAX_OF_SESSION = 4
_KEEP_BYTES = 40_000
_FLOOD_BYTES = 1024 * 1024 * 1024
_TAIL_CHARS = 2_000
_COMMAND_CHARS = 200
_REMEMBERED = 64
_LOST_AFTER_SECONDS = 120.0
_NAME = "background command"


_TAINTED = Labelled | ErasedEntry


class StartedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A background command, and the conversation for which it runs."""

    id: int
    session_key: str
    address: Address
    sender_id: str
    role: Role
    command: str


class BackgroundRecords(Protocol):
    """Records the running commands, so that they are known after a crash."""

    async def started(self, command: StartedCommand) -> int:
        """Record it; returns its id."""

    async def ended(self, identity: int) -> None:
        """The command ended and its session was told."""

    async def beat(self) -> None:
        """Heartbeat: this process and its commands are alive."""

    async def lost(self, silent_for: float) -> list[StartedCommand]:
        """Commands whose process is gone: from an earlier start of this home, or without a
        heartbeat for this many seconds."""


class _Command:
    """One command, from its start until it is dropped."""

    def __init__(
        self,
        started: StartedCommand,
        program: SandboxProcess,
        end: AsyncExitStack,
        watch: CommandWatch,
        *,
        online: bool,
    ) -> None:
        self.online = online
        self.watch = watch
        self.started = started
        self.program = program
        self.process = program.process
        self.end = end
        self.capture = Capture(self.process, _KEEP_BYTES, _FLOOD_BYTES)
        self.seen = 0
        self.stopped_by = ""
        self.done = asyncio.Event()

    @property
    def state(self) -> str:
        if not self.done.is_set():
            return "running"
        if self.stopped_by:
            return f"stopped by {self.stopped_by}"
        return f"ended with exit code {self.process.returncode}"


class BackgroundCommands:
    """The background commands of one gateway. `serving()` is their lifetime: at its end they are
    killed, and reported as lost at the next start."""

    def __init__(  # noqa: PLR0913 - each is a part of its own
        self,
        sandbox: Sandbox,
        files: TaintedFiles,
        bus: Bus,
        records: BackgroundRecords,
        clock: Clock,
        max_seconds: float,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._redact = redact
        self._sandbox = sandbox
        self._files = files
        self._bus = bus
        self._records = records
        self._clock = clock
        self._looks = Looks(clock, often=30.0, lasting=60.0)
        self._max_seconds = max_seconds
        self._commands: dict[int, _Command] = {}
        self._beginning: list[str] = []
        self._tasks: asyncio.TaskGroup | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Commands can be started within this context."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            name = "background commands: beat"
            beating = tasks.create_task(supervised(name, self._beat, self._clock), name=name)
            try:
                yield
            finally:
                self._tasks = None
                beating.cancel()
                for command in self._running():
                    command.stopped_by = "the end of the gateway"
                    kill(command.process)

    async def start(
        self, command: str, context: CallContext, *, network: NetworkAccess, walls: Walls
    ) -> int:
        """Start a command; returns its id. Raises ToolError if too many are running, or if it
        cannot be started.

        The command may outlast the conditions it was started under. It therefore cannot write
        files that steer the assistant, whoever started it; and if it was started without untrusted
        content, its network access ends once the conversation has seen some."""
        if self._tasks is None:
            raise ToolError("nothing can run in the background here: the gateway is not serving")
        with self._place(context.session_key):
            row = await self._begun(command, context, network, walls)
            # Nothing was awaited since it saw that the gateway serves.
            self._commands[row.started.id] = row
        self._tasks.create_task(self._follow(row), name=_key(row.started))
        self._forget_old()
        return row.started.id

    @contextmanager
    def _place(self, session_key: str) -> Iterator[None]:
        """Reserve a place for a command that starts within this context. Raises ToolError if there
        are too many."""
        taken = [*(other.started.session_key for other in self._running()), *self._beginning]
        of_session = taken.count(session_key)
        if len(taken) >= MAX_RUNNING or of_session >= MAX_OF_SESSION:
            raise ToolError(
                f"{of_session} commands of this conversation run in the background already "
                f"(at most {MAX_OF_SESSION}, {MAX_RUNNING} in all): stop one first"
            )
        self._beginning.append(session_key)
        try:
            yield
        finally:
            self._beginning.remove(session_key)

    async def _begun(
        self, command: str, context: CallContext, network: NetworkAccess, walls: Walls
    ) -> _Command:
        """A running command, which the caller has to follow. Raises ToolError if it cannot be
        started or the gateway ends in the meantime; the command is then killed and not reported as
        lost later."""
        started = StartedCommand(
            id=0,
            session_key=context.session_key,
            address=context.address,
            sender_id=context.sender_id,
            role=context.role,
            command=command[:_COMMAND_CHARS],
        )
        self._looks.stir()
        identity = await self._records.started(started)
        started = msgspec.structs.replace(started, id=identity)
        sandbox = self._sandbox.fitting(private=context.alone, trusted=False)
        sandbox = sandbox.behind(walls)
        online = network.mode != "none" or sandbox.is_bare
        async with AsyncExitStack() as failed:
            failed.push_async_callback(self._records.ended, identity)
            end = await failed.enter_async_context(AsyncExitStack())
            # Before it begins: otherwise files it has already written would have no label.
            watch = await end.enter_async_context(
                self._files.command(
                    _key(started),
                    tainted=context.tainted,
                    brings=online,
                    label=context.label,
                )
            )
            if not context.tainted:
                network = msgspec.structs.replace(
                    network,
                    open=self._untainted(context.session_key),
                    may_send=None if context.approved else watch.read_none,
                )
            program = await end.enter_async_context(
                sandbox.running(command, self._files.workspace, network=network)
            )
            if self._tasks is None:
                raise ToolError(
                    "the gateway ends: the command was killed, and may have done part of its work"
                )
            failed.pop_all()  # the follower closes `end`
        return _Command(started, program, end, watch, online=online)

    def _untainted(self, session_key: str) -> Callable[[], Awaitable[bool]]:
        async def untainted() -> bool:
            entries = await self._bus.journal.history(session_key)
            return not any(map(_is_from_outside, entries))

        return untainted

    def is_online(self, identity: int, session_key: str) -> bool:
        """Whether a command of the session can reach the network."""
        command = self._commands.get(identity)
        return command is not None and command.online and command.started.session_key == session_key

    def has_outside(self, identity: int, session_key: str) -> bool:
        """Whether the output of a session's commands may be untrusted."""
        command = self._commands.get(identity)
        if command is None or command.started.session_key != session_key:
            return False
        return command.online or command.watch.read_marked()

    def lines(self, session_key: str) -> list[str]:
        """The commands of a session with their states, oldest first."""
        return [
            f"#{command.started.id} {command.state}: {command.started.command}"
            for command in self._commands.values()
            if command.started.session_key == session_key
        ]

    async def output(self, identity: int, session_key: str, wait: float) -> str:
        """A command's output (both ends of it), after waiting at most `wait` seconds for its end.
        Raises ToolError."""
        command = self._of(identity, session_key)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await command.done.wait()
        news = command.capture.total - command.seen
        command.seen = command.capture.total
        text = clean(command.capture.text()).rstrip("\n")
        return f"{text or '(no output)'}\n[#{identity} {command.state}; {news} new bytes]"

    async def feed(self, identity: int, session_key: str, text: str, *, end: bool) -> None:
        """Write to a command's standard input; `end` closes it. Raises ToolError."""
        command = self._of(identity, session_key)
        stdin = command.process.stdin
        if command.done.is_set() or stdin is None or stdin.is_closing():
            raise ToolError(f"#{identity} takes no more input: it is {command.state}")
        try:
            stdin.write(text.encode("utf-8", "replace"))
            async with asyncio.timeout(5):
                await stdin.drain()
            if end:
                stdin.close()
        except (OSError, TimeoutError) as error:
            raise ToolError(f"#{identity} does not read its input ({error})") from error

    def stop(self, identity: int, session_key: str, by: str) -> None:
        """Kill a command with everything it has started. Raises ToolError."""
        command = self._of(identity, session_key)
        if not command.done.is_set():
            command.stopped_by = by
            kill(command.process)

    def _of(self, identity: int, session_key: str) -> _Command:
        command = self._commands.get(identity)
        if command is None or command.started.session_key != session_key:
            mine = "\n".join(self.lines(session_key)) or "none"
            raise ToolError(f"there is no background command #{identity} here; there are:\n{mine}")
        return command

    def _running(self) -> list[_Command]:
        return [command for command in self._commands.values() if not command.done.is_set()]

    def _forget_old(self) -> None:
        over = len(self._commands) - _REMEMBERED
        for identity in [i for i, command in self._commands.items() if command.done.is_set()][
            : max(over, 0)
        ]:
            del self._commands[identity]

    async def _follow(self, command: _Command) -> None:
        """Read a command's output to its end, then tell its session."""
        process = command.process
        with boundary(_key(command.started)):
            async with command.end:
                try:
                    async with asyncio.timeout(self._max_seconds):
                        await command.capture.until_end()
                        await process.wait()
                except TimeoutError:
                    command.stopped_by = f"the limit of {self._max_seconds:g} s"
                finally:
                    await command.capture.kill()
        command.done.set()
        if self._tasks is None:
            return  # the gateway ends: the next start reports it
        whole = clean(command.capture.text())
        shown = self._redact(whole)
        output = shorten(shown, _TAIL_CHARS, "Read the rest with `process`.")
        text = f"{command.state}.\nIts output:\n{output or '(none)'}"
        if command.program.refused:
            hosts = ", ".join(command.program.refused)
            text += f"\nNot reached, because they are not on the list of hosts: {hosts}"
        with boundary(f"telling the end of {_key(command.started)}"):
            label = label_of(whole, command.started.command, redacted=shown != whole)
            await self._tell(command.started, text, label)

    async def _tell(self, command: StartedCommand, text: str, label: Label) -> None:
        """Publish the command's end, retrying until the store accepts it; the same end is never
        published twice."""
        message = InboundMessage(
            address=command.address,
            message_id=f"command:{command.id}",
            dedupe_key=f"command:{command.id}",
            sender=Sender(command.sender_id, _NAME),
            text=f"Background command #{command.id} (`{command.command}`) {text}",
            sent_at=self._clock.now(),
            origin=Origin.EVENT,
            tainted=label.tainted,
            label=label.encoded(),
        )
        admission = Admission(message=message, session_key=command.session_key, role=command.role)
        while True:
            try:
                await self._bus.admit(command.address.channel, [admission])
                await self._records.ended(command.id)
            except StoreError as error:
                logger.error("the end of command {} waits for the store: {}", command.id, error)
                await self._clock.sleep(STORE_RETRY_SECONDS)
            else:
                return

    async def _beat(self) -> None:
        """Record that this process is alive, and report commands whose process is not."""
        while True:
            with boundary("background commands"):
                for command in await self._records.lost(_LOST_AFTER_SECONDS):
                    kept = of_result("exec", tainted=False)
                    why = "is lost: nanobot was stopped or restarted while it ran. It may have done"
                    with boundary(f"telling the loss of {_key(command)}"):
                        await self._tell(command, f"{why} part of its work.", kept)
                if self._running():
                    self._looks.stir()
                    await self._records.beat()
            await self._looks.due()


def _key(command: StartedCommand) -> str:
    return f"background command {command.id}"


def _is_from_outside(entry: Entry) -> bool:
    """Whether an entry could bring untrusted content to a running command. The output of background
    commands does not count: checking on one, or the end of one, must not stop another."""
    body = entry.body
    if isinstance(body, ToolResultEntry) and body.name == "process":
        return False
    if isinstance(body, UserEntry) and body.sender_name == _NAME and body.origin is Origin.EVENT:
        return False
    return isinstance(body, _TAINTED) and body.tainted
