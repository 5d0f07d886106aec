"""The control socket: how terminals and other programs of the owner talk to a running nanobot.

`NANOBOT_HOME/control.sock`, mode 0600, one JSON object per line in each direction. Any client that
can open it acts as the owner. Requests are `attach`, `say`, `shown`, `call`, `run` and `abort`;
answers are `hello`, `taken`, `event`, `message`, `result`, `answered`, `aborted` and `refused`.
Calls and runs do not require attaching. Disconnecting does not end a run.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

import msgspec
from loguru import logger

from nanobot.addresses import OWNER_ID, THE_OWNER
from nanobot.boundary import boundary
from nanobot.bus.core import Subscription
from nanobot.channels.intake import ChannelIntake
from nanobot.errors import NanobotError, StoreUnwritable, UsageError
from nanobot.labels import NOTHING
from nanobot.messages import (
    TERMINAL,
    Address,
    Attachment,
    EventKind,
    InboundMessage,
    RunOptions,
    Sender,
)
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import A_PROGRAM, AT_THE_TERMINAL
from nanobot.plugins.common.approvals import OpenQuestions
from nanobot.plugins.common.control.protocol import (
    LINE_LIMIT,
    Aborted,
    AbortRun,
    Answer,
    Answered,
    Attach,
    CallOperation,
    Displayed,
    EventLine,
    Hello,
    PeerMessage,
    Refusal,
    Request,
    Result,
    Say,
    ShowMessage,
    StartRun,
    Taken,
    encode,
)
from nanobot.plugins.common.files.local_files import image, is_outside
from nanobot.plugins.common.runs.current_runs import CurrentRuns
from nanobot.plugins.common.runs.program_label import said_by_program
from nanobot.plugins.common.runs.programs import NO_PROGRAMS, Programs
from nanobot.plugins.common.runs.run_input import RunResult
from nanobot.plugins.common.views.encoding import encoded
from nanobot.plugins.control.terminal import Terminal, TerminalMessage
from nanobot.workspace.received import Received

_SHOW_SECONDS = 600.0
_requests = msgspec.json.Decoder(Request)


class _Attached:
    """One attached connection."""

    def __init__(
        self, writer: asyncio.StreamWriter, session: str, chat: str, language: str
    ) -> None:
        self.session = session
        self.chat = chat
        self.language = language
        self._writer = writer
        self._waiting: dict[str, asyncio.Future[bool]] = {}
        self._gone = False

    def write(self, answer: Answer) -> None:
        self.write_line(encode(answer))

    def write_line(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    def tell(self, shown: TerminalMessage) -> None:
        self.write(ShowMessage(shown.key, shown.kind, shown.text, shown.choices))

    async def show(self, shown: TerminalMessage) -> bool:
        if self._gone:
            return False
        answer = self._waiting.setdefault(shown.key, asyncio.get_running_loop().create_future())
        self.tell(shown)
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


class ControlServer:
    """Serves the control socket. `hello` is sent to a client that attaches to a session, completed
    from the session's log.
    """

    def __init__(
        self,
        path: Path,
        operations: Dispatcher,
        terminal: Terminal,
        intake: ChannelIntake,
        hello: Callable[[str], Hello],
        current: CurrentRuns,
    ) -> None:
        self._path = path
        self._operations = operations
        self._engine = operations.engine
        self._bus = self._engine.bus
        self._terminal = terminal
        self._intake = intake
        self._clock = self._engine.clock
        self._hello = hello
        self._attached: list[_Attached] = []
        self._current = current
        self._bus.on_stopped(self._current.stopped)
        self._run_service = NO_PROGRAMS
        self._received: Received | None = None

    @asynccontextmanager
    async def serving(
        self, run_service: Programs = NO_PROGRAMS, received: Received | None = None
    ) -> AsyncIterator[None]:
        """Open the socket within the context; for `programs` too, and for pictures if there is a
        place for them. Raises StoreUnwritable if it cannot be created.
        """
        self._run_service = run_service
        self._received = received
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
        self._bus.watch(self._current)
        try:
            yield
        finally:
            self._bus.unsubscribe(self._current)
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
        self._catch_up(attached)
        watching = self._bus.subscribe(attached.session)
        self._attached.append(attached)
        self._terminal.attach(attached.chat, attached)
        self._bus.owed(Address(TERMINAL, attached.chat))
        try:
            await self._ask_again(attached)
            async with asyncio.TaskGroup() as tasks:
                telling = tasks.create_task(self._tell(watching, attached), name="control: events")
                # Within the task group, which would wrap it: a client that disconnects is not a
                # failure.
                with suppress(ConnectionError):
                    while raw := await _read(reader):
                        await self._obey(raw, attached)
                        await writer.drain()
                telling.cancel()
        finally:
            self._bus.unsubscribe(watching)
            self._attached.remove(attached)
            self._terminal.detach(attached.chat, attached)
            attached.gone()

    async def _attach(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> _Attached | None:
        while True:
            raw = await _read(reader)
            try:
                request = _requests.decode(raw)
            except msgspec.DecodeError as error:
                writer.write(encode(Refusal(f"not a request: {error}")))
                return None
            if isinstance(request, CallOperation):
                writer.write(await self._call(request))
            elif isinstance(request, StartRun | AbortRun):
                await self._serve_program(request, writer)
            else:
                break
            await writer.drain()
        if not isinstance(request, Attach) or not request.session:
            writer.write(encode(Refusal("attach to a session first")))
            return None
        session = request.session
        own = session.startswith(f"{TERMINAL}:")
        chat = session.removeprefix(f"{TERMINAL}:") if own else session
        attached = _Attached(writer, session, chat, request.language)
        row = await self._engine.journal.session(session)
        hello = self._hello(session)
        if row is not None:
            hello = msgspec.structs.replace(hello, entries=row.entries, changed_at=row.updated_at)
        attached.write(hello)
        return attached

    def _catch_up(self, attached: _Attached) -> None:
        """The session's active run, and its answer so far."""
        events = self._current.of(attached.session)
        partial = self._engine.partial(attached.session)
        for event in events:
            attached.write(EventLine(event))
        if events and partial is not None:
            delta = msgspec.structs.replace(
                events[0],
                kind=EventKind.MODEL_DELTA,
                model_call=partial.call,
                payload={"text": partial.text},
            )
            attached.write(EventLine(delta))

    async def _ask_again(self, attached: _Attached) -> None:
        """The pending approvals of the session."""
        questions: OpenQuestions | None = self._operations.offered(OpenQuestions)
        if questions is None:
            return
        chat = Address(TERMINAL, attached.chat)
        for pending in await questions.pending(attached.session, chat):
            question = pending
            for change in self._bus.outgoing:
                question = await change(question)
            attached.write(
                ShowMessage(question.key, question.kind, question.text, question.choices)
            )

    @staticmethod
    async def _tell(watching: Subscription, attached: _Attached) -> None:
        """A slow client loses old events (see Subscription) and uses no extra memory."""
        with suppress(ConnectionError):
            async for event in watching:
                attached.write(EventLine(event))
                await attached.drain()

    async def _obey(self, raw: bytes, attached: _Attached) -> None:
        try:
            request: Request = _requests.decode(raw)
        except msgspec.DecodeError as error:
            attached.write(Refusal(f"not a request: {error}"))
            return
        match request:
            case Displayed(key):
                attached.was_shown(key)
            case Say():
                await self._say(request, attached)
            case CallOperation():
                attached.write_line(await self._call(request))
            case AbortRun(run_id):
                attached.write(await self._abort(run_id, Address(TERMINAL, attached.chat)))
            case Attach() | StartRun():
                attached.write(Refusal("this connection is attached already"))

    async def _abort(self, run_id: str, asked_from: Address) -> Aborted | Refusal:
        try:
            return Aborted(run_id, await self._run_service.abort(run_id, asked_from))
        except NanobotError as error:
            return Refusal(str(error), code=error.exit_code)

    async def _call(self, request: CallOperation) -> bytes:
        """The result of a call, as sent over the socket."""
        answer: Result | Refusal
        with boundary(f"operation {request.name}") as caught:
            try:
                caller = A_PROGRAM if request.program else AT_THE_TERMINAL
                given = await self._operations.listing(request.name, request.arguments, caller)
                raw = msgspec.Raw(await encoded(given.result))
                answer = Result(request.name, raw, request.key, given.unreadable)
                if len(answer.result) > LINE_LIMIT - 1_000:
                    answer = Refusal("that is too much for one answer: ask for less", request.key)
            except NanobotError as error:
                answer = Refusal(str(error), request.key, error.exit_code)
        if caught.error is not None:
            answer = Refusal(f"{request.name} failed inside; the log says why", request.key)
        return encode(answer)

    async def _serve_program(
        self, request: StartRun | AbortRun, writer: asyncio.StreamWriter
    ) -> None:
        """Perform a program's request. Nothing else is read from the connection while its run is
        active.
        """
        run_service = self._run_service
        try:
            if isinstance(request, AbortRun):
                ended = await run_service.abort(request.run_id)
                writer.write(encode(Aborted(request.run_id, ended)))
                return
            label = said_by_program(request.input) if request.program else NOTHING
            async with aclosing(run_service.stream(request.input, label)) as items:
                async for item in items:
                    answer = Answered(item) if isinstance(item, RunResult) else EventLine(item)
                    writer.write(encode(answer))
                    await writer.drain()
        except NanobotError as error:
            kind = type(error).__name__
            writer.write(encode(Refusal(str(error), code=error.exit_code, error=kind)))

    async def _say(self, request: Say, attached: _Attached) -> None:
        message = InboundMessage(
            address=Address(TERMINAL, attached.chat),
            message_id=request.key,
            dedupe_key=request.key,
            sender=Sender(OWNER_ID, THE_OWNER),
            text=request.text,
            sent_at=self._clock.now(),
            language=attached.language,
            options=None if request.attended else RunOptions(unattended=True, run_id=request.key),
        )
        try:
            images = tuple([await self._image(path) for path in request.images])
            outside = request.outside or await self._is_outside(request)
            message = msgspec.structs.replace(message, attachments=images, tainted=outside)
            (taken,) = await self._intake.take([message], session=attached.session)
        except NanobotError as error:
            attached.write(Refusal(str(error), request.key, error.exit_code))
            return
        stopped = taken.stopped is not None
        answered = taken.owes is not None
        answer = Taken(request.key, taken.inbound_id, answered, stopped)
        attached.write(answer)
        for other in self._attached:
            if other is not attached and other.session == attached.session:
                other.write(PeerMessage(request.text, answer))

    async def _is_outside(self, request: Say) -> bool:
        paths = (*request.files, *request.images)
        return self._received is not None and await is_outside(self._received, paths)

    async def _image(self, path: str) -> Attachment:
        if self._received is None:
            raise UsageError("this nanobot does not accept pictures")
        return await image(self._received, path, self._clock.now())


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:
        raise ConnectionError(f"a line of more than {LINE_LIMIT} bytes") from None
