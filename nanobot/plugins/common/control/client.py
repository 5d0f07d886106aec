"""The client of the control socket: conversations, operations, and runs of programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.errors import (
    ConfigError,
    Disconnected,
    NanobotError,
    NotServed,
    RunConflict,
    StoreError,
    UsageError,
)
from nanobot.messages import RunEvent
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
    Refusal,
    Request,
    Result,
    Say,
    StartRun,
    encode,
)
from nanobot.plugins.common.runs.run_input import RunInput, RunResult

T = TypeVar("T")
CALL_SECONDS = 120.0
_NAMED = {"RunConflict": RunConflict}
_BY_CODE = {2: UsageError, 3: ConfigError, 4: StoreError}
_answers = msgspec.json.Decoder(Answer)


class Refused(NanobotError):
    """A refusal by a running nanobot, with the exit code that it named."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.exit_code = refusal.code


class ControlClient:
    """One connection. Every request raises Disconnected when the connection ends; a refusal is
    raised as its original error.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, path: Path) -> ControlClient | None:
        """A connection, or None if no process serves the socket."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT)
        except OSError:
            return None
        return cls(reader, writer)

    # A conversation

    async def attach(self, session: str, language: str = "") -> Hello:
        """Attach to a session, for a person with that language."""
        return await self._answered(Attach(session, language=language), Hello)

    def say(
        self,
        text: str,
        key: str,
        *,
        images: tuple[str, ...] = (),
        files: tuple[str, ...] = (),
        attended: bool = True,
        outside: bool = False,
    ) -> None:
        """Send a message, with the pictures at these paths; it is accepted once per key. `files`
        are those whose content is in the message. `outside`: it contains text that no person typed.
        `attended`: a person is present who can be asked.
        """
        self._send(Say(text, key, attended, images, files, outside))

    def abort_asked(self, run_id: str) -> None:
        """End the run of a message that was sent on this connection; `answers` yields the
        outcome.
        """
        self._send(AbortRun(run_id))

    def was_shown(self, key: str) -> None:
        """Report that the person has seen the message."""
        self._send(Displayed(key))

    async def answers(self) -> AsyncIterator[Answer]:
        """Yield all incoming items, including refusals, until the other side closes; then raise
        Disconnected.
        """
        while True:
            yield await self._next()

    # Operations, and runs of programs

    async def call(self, name: str, arguments: Mapping[str, Any]) -> bytes:
        """The result of an operation, as JSON."""
        return bytes((await self.listing(name, arguments)).result)

    async def listing(
        self, name: str, arguments: Mapping[str, Any], *, program: bool = False
    ) -> Result:
        """The same, with the number of rows that belong in it but are unreadable. `program`:
        another program calls, not the owner."""
        call = CallOperation(name, dict(arguments), program=program)
        return await self._answered(call, Result)

    async def stream(
        self, request: RunInput, *, program: bool = False
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        """The events of a run, and its result. `program`: another program sends it, not the owner.
        Raises UsageError for an input that is too long.
        """
        line = encode(StartRun(request, program))
        if len(line) > LINE_LIMIT:
            raise UsageError(f"messages: a running nanobot accepts at most {LINE_LIMIT:,} bytes")
        self._writer.write(line)
        async for answer in self.answers():
            match answer:
                case EventLine(event):
                    yield event
                case Answered(result):
                    yield result
                    return
                case _:
                    raise _error_of(answer)

    async def abort(self, run_id: str) -> bool:
        """End a run; returns whether it was still active."""
        return (await self._answered(AbortRun(run_id), Aborted)).ended

    async def close(self) -> None:
        self._writer.close()

    async def _answered(self, request: Request, kind: type[T]) -> T:
        self._send(request)
        answer = await self._next()
        if isinstance(answer, kind):
            return answer
        raise _error_of(answer)

    def _send(self, request: Request) -> None:
        self._writer.write(encode(request))

    async def _next(self) -> Answer:
        try:
            raw = await self._reader.readline()
        except ConnectionError:
            raw = b""
        if not raw:
            raise Disconnected(
                "the connection to nanobot ended; the request is stored and continues"
            )
        answer: Answer = _answers.decode(raw)
        return answer


@asynccontextmanager
async def connected(home: Path) -> AsyncIterator[ControlClient]:
    """A client of the nanobot that serves a home. Raises NotServed if there is none."""
    client = await ControlClient.connect(home / "control.sock")
    if client is None:
        raise NotServed(f"no nanobot serves {home}: start one, or use Agent.open")
    try:
        yield client
    finally:
        await client.close()


def unserved(config: Config) -> NotServed:
    """Why commands reach no nanobot that serves this home."""
    if "control" in switched(config).on:
        return NotServed(f"no nanobot serves {config.home}: start `nanobot gateway` first")
    return NotServed(
        f"commands reach no nanobot that serves {config.home}: that needs the plugin control, "
        "which is not on: `nanobot plugins on control` switches it on, for the next start"
    )


async def call(path: Path, name: str, arguments: Mapping[str, Any]) -> bytes | None:
    """The result of an operation of the nanobot behind a control socket, as JSON; None if no
    process serves it, or the connection is lost. Raises refusals.
    """
    given = await listing(path, name, arguments)
    return None if given is None else bytes(given.result)


async def listing(
    path: Path,
    name: str,
    arguments: Mapping[str, Any],
    seconds: float | None = CALL_SECONDS,
    *,
    program: bool = False,
) -> Result | None:
    """The same, with the number of rows that belong in it but are unreadable. `seconds`: how long
    it may take; None: without a limit.
    """
    client = await ControlClient.connect(path)
    if client is None:
        return None
    try:
        async with asyncio.timeout(seconds):
            return await client.listing(name, arguments, program=program)
    except Disconnected:
        return None
    except TimeoutError:
        raise NanobotError(f"{path} does not answer") from None
    finally:
        await client.close()


def _error_of(answer: Answer) -> NanobotError:
    if not isinstance(answer, Refusal):
        return NanobotError("the gateway sent an unexpected answer")
    kind = _NAMED.get(answer.error) or _BY_CODE.get(answer.code)
    return Refused(answer) if kind is None else kind(answer.text)
