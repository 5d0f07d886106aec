"""The control socket: how a terminal, or any program of the owner, talks to a running nanobot.

`NANOBOT_HOME/control.sock`, mode 0600, one JSON object a line each way. Whoever can open it is the
owner. Requests are `attach`, `say`, `shown`, `call`, `run` and `abort`; answers are `hello`,
`taken`, `event`, `message`, `result`, `answered`, `aborted` and `refused`. Calls and runs need no
attaching; whoever leaves while a run goes on does not end it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus, Subscription
from nanobot.bus.events import (
    Address,
    Choice,
    InboundMessage,
    OutboundKind,
    RunEvent,
    RunTerms,
    Sender,
)
from nanobot.errors import NanobotError, StoreUnwritable
from nanobot.intake import ChannelIntake
from nanobot.ports import Clock
from nanobot.programs import Programs, RunInput, RunResult
from nanobot.terminal import NAME, Shown, Terminal

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes of one line: a message of a million characters, every one escaped, still fits."""
_SHOW_SECONDS = 600.0


class Attach(msgspec.Struct, frozen=True, tag="attach", tag_field="op"):
    """Talk in this session from now on: its events, and the messages of chat `cli:NAME`."""

    session: str
    name: str = ""


class Say(msgspec.Struct, frozen=True, tag="say", tag_field="op"):
    """A message. The same `key` is taken only once. `attended`: somebody is there to be asked
    whether something may be done."""

    text: str
    key: str
    attended: bool = True


class WasShown(msgspec.Struct, frozen=True, tag="shown", tag_field="op"):
    """The message with this key was shown to the person."""

    key: str


class Call(msgspec.Struct, frozen=True, tag="call", tag_field="op"):
    """Perform an operation (see nanobot.operations). `key` comes back with what it gave."""

    name: str
    arguments: dict[str, Any] = {}
    key: str = ""


class Ask(msgspec.Struct, frozen=True, tag="run", tag_field="op"):
    """Ask for a run as a program does (see nanobot.programs): its events come, then `answered`."""

    input: RunInput


class Abort(msgspec.Struct, frozen=True, tag="abort", tag_field="op"):
    """End a run that a program asked for."""

    run_id: str


class Hello(msgspec.Struct, frozen=True, tag="hello", tag_field="op"):
    """Attached. `model` is a line on who answers, or on what is wrong."""

    pid: int
    session: str
    model: str


class Taken(msgspec.Struct, frozen=True, tag="taken", tag_field="op"):
    """The message is on disk. `answered`: its answer is a message of its own, not of a run."""

    key: str
    inbound_id: int
    answered: bool
    stopped: bool


class Event(msgspec.Struct, frozen=True, tag="event", tag_field="op"):
    """Something happened in the session's run."""

    event: RunEvent


class Message(msgspec.Struct, frozen=True, tag="message", tag_field="op"):
    """Something to show, and then to say so. `choices` are answers the person may give."""

    key: str
    kind: OutboundKind
    text: str
    choices: tuple[Choice, ...] = ()


class Result(msgspec.Struct, frozen=True, tag="result", tag_field="op"):
    """What an operation gave."""

    name: str
    result: msgspec.Raw
    key: str = ""


class Answered(msgspec.Struct, frozen=True, tag="answered", tag_field="op"):
    """A program's run has ended."""

    result: RunResult


class Aborted(msgspec.Struct, frozen=True, tag="aborted", tag_field="op"):
    """Whether this ended the run; if not, it had ended before."""

    run_id: str
    ended: bool


class Refusal(msgspec.Struct, frozen=True, tag="refused", tag_field="op"):
    """The request was not understood, or could not be done. `key`: the message it was about.
    `code` is what a command that asked for it exits with, `error` the kind of error it is."""

    text: str
    key: str = ""
    code: int = 1
    error: str = ""


Request: TypeAlias = Attach | Say | WasShown | Call | Ask | Abort
Answer: TypeAlias = Hello | Taken | Event | Message | Result | Answered | Aborted | Refusal

_requests = msgspec.json.Decoder(Request)


def line(answer: Request | Answer) -> bytes:
    """One object as it goes over the socket."""
    return msgspec.json.encode(answer) + b"\n"


class _Attached:
    """One connection that has attached."""

    def __init__(self, writer: asyncio.StreamWriter, session: str, chat: str) -> None:
        self.session = session
        self.chat = chat
        self._writer = writer
        self._waiting: dict[str, asyncio.Future[bool]] = {}
        self._gone = False

    def write(self, answer: Answer) -> None:
        self.write_line(line(answer))

    def write_line(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    async def show(self, shown: Shown) -> bool:
        if self._gone:
            return False
        answer = self._waiting.setdefault(shown.key, asyncio.get_running_loop().create_future())
        self.write(Message(shown.key, shown.kind, shown.text, shown.choices))
        try:
            async with asyncio.timeout(_SHOW_SECONDS):
                return await asyncio.shield(answer)
        except TimeoutError:
            return False
        finally:
            self._waiting.pop(shown.key, None)

    def was_shown(self, key: str) -> None:
        waiting = self._waiting.get(key)
        if waiting is not None and not waiting.done():
            waiting.set_result(True)

    def gone(self) -> None:
        self._gone = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(False)


class Control:
    """Serves the control socket."""

    def __init__(
        self,
        path: Path,
        bus: Bus,
        terminal: Terminal,
        intake: ChannelIntake,
        clock: Clock,
        describe: Callable[[], str],
    ) -> None:
        self._path = path
        self._bus = bus
        self._terminal = terminal
        self._intake = intake
        self._clock = clock
        self._describe = describe
        self._programs: Programs | None = None

    @asynccontextmanager
    async def serving(self, programs: Programs | None = None) -> AsyncIterator[None]:
        """The socket is open within, also to `programs`. Raises StoreUnwritable when it cannot be
        made."""
        self._programs = programs
        self._path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._serve, self._path, limit=LINE_LIMIT)
        except OSError as error:
            raise StoreUnwritable(
                f"{self._path} cannot be made ({error.strerror or error}): "
                "NANOBOT_HOME must be a local folder with a path of at most 90 characters"
            ) from error
        finally:
            os.umask(before)
        try:
            yield
        finally:
            server.close()
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with boundary("a control connection"):
            try:
                await self._converse(reader, writer)
            except (ConnectionError, asyncio.CancelledError):
                logger.debug("a control connection ended")
            finally:
                writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        attached = await self._attach(reader, writer)
        if attached is None:
            return
        watching = self._bus.subscribe(attached.session)
        self._terminal.attach(attached.chat, attached)
        self._bus.owed(Address(NAME, attached.chat))
        try:
            async with asyncio.TaskGroup() as tasks:
                telling = tasks.create_task(self._tell(watching, attached), name="control: events")
                # Within the group, which would wrap it: that a client goes away is no failure.
                with suppress(ConnectionError):
                    while raw := await _read(reader):
                        await self._obey(raw, attached)
                        await writer.drain()
                telling.cancel()
        finally:
            self._bus.unsubscribe(watching)
            self._terminal.detach(attached.chat, attached)
            attached.gone()

    async def _attach(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> _Attached | None:
        while True:
            raw = await _read(reader)
            try:
                wanted = _requests.decode(raw)
            except msgspec.DecodeError as error:
                writer.write(line(Refusal(f"not a request: {error}")))
                return None
            if isinstance(wanted, Call):
                writer.write(await self._call(wanted))
            elif isinstance(wanted, Ask | Abort):
                await self._serve_program(wanted, writer)
            else:
                break
            await writer.drain()
        if not isinstance(wanted, Attach) or not wanted.session:
            writer.write(line(Refusal("attach to a session first")))
            return None
        session = wanted.session
        own = session.startswith(f"{NAME}:")
        chat = session.removeprefix(f"{NAME}:") if own else session
        attached = _Attached(writer, session, chat)
        attached.write(Hello(os.getpid(), session, self._describe()))
        return attached

    @staticmethod
    async def _tell(watching: Subscription, attached: _Attached) -> None:
        """A client that reads slowly loses old events (see Subscription) and takes no memory."""
        with suppress(ConnectionError):
            async for event in watching:
                attached.write(Event(event))
                await attached.drain()

    async def _obey(self, raw: bytes, attached: _Attached) -> None:
        try:
            request: Request = _requests.decode(raw)
        except msgspec.DecodeError as error:
            attached.write(Refusal(f"not a request: {error}"))
            return
        match request:
            case WasShown(key):
                attached.was_shown(key)
            case Say():
                await self._say(request, attached)
            case Call():
                attached.write_line(await self._call(request))
            case Attach() | Ask() | Abort():
                attached.write(Refusal("this connection is attached already"))

    async def _call(self, asked: Call) -> bytes:
        """The answer to a call as it goes over the socket."""
        answer: Result | Refusal
        with boundary(f"operation {asked.name}") as caught:
            try:
                given = await self._intake.operations.call(asked.name, asked.arguments)
                answer = Result(asked.name, msgspec.Raw(msgspec.json.encode(given)), asked.key)
                if len(answer.result) > LINE_LIMIT - 1_000:
                    answer = Refusal("that is too much for one answer: ask for less", asked.key)
            except NanobotError as error:
                answer = Refusal(str(error), asked.key, error.exit_code)
        if caught.error is not None:
            answer = Refusal(f"{asked.name} failed inside; the log says why", asked.key)
        return line(answer)

    async def _serve_program(self, asked: Ask | Abort, writer: asyncio.StreamWriter) -> None:
        """Perform what a program asks for; while its run goes on, nothing else is read here."""
        programs = self._programs
        if programs is None:
            writer.write(line(Refusal("this nanobot runs nothing for programs")))
            return
        try:
            if isinstance(asked, Abort):
                ended = await programs.abort(asked.run_id)
                writer.write(line(Aborted(asked.run_id, ended)))
                return
            async with aclosing(programs.stream(asked.input)) as items:
                async for item in items:
                    answer = Answered(item) if isinstance(item, RunResult) else Event(item)
                    writer.write(line(answer))
                    await writer.drain()
        except NanobotError as error:
            kind = type(error).__name__
            writer.write(line(Refusal(str(error), code=error.exit_code, error=kind)))

    async def _say(self, said: Say, attached: _Attached) -> None:
        message = InboundMessage(
            address=Address(NAME, attached.chat),
            message_id=said.key,
            dedupe_key=said.key,
            sender=Sender("local", "you"),
            text=said.text,
            sent_at=self._clock.now(),
            terms=None if said.attended else RunTerms(unattended=True),
        )
        try:
            (taken,) = await self._intake.take([message], session=attached.session)
        except NanobotError as error:
            attached.write(Refusal(str(error), said.key))
            return
        stopped = taken.stopped is not None
        answered = taken.owes is not None
        attached.write(Taken(said.key, taken.inbound_id, answered, stopped))


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:
        raise ConnectionError(f"a line of more than {LINE_LIMIT} bytes") from None
