"""The library: an agent of one's own over a home, or the one that a running gateway has.

async with Agent.open() as agent:
    result = await agent.run(RunInput(messages=[{"role": "user", "content": "Hello"}]))
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from nanobot import errors
from nanobot.agent.requests import RunInput, RunLimits, RunResult, ToolPolicy
from nanobot.app.assembly import Parts
from nanobot.app.gateway import Gateway
from nanobot.config.loader import Config, load
from nanobot.messages import RunEvent
from nanobot.server import protocol
from nanobot.system import RandomIds, environment

__all__ = ["Agent", "RunEvent", "RunInput", "RunLimits", "RunResult", "ToolPolicy"]

_DECISIONS = {True: "approve", False: "deny"}
_answers = msgspec.json.Decoder(protocol.Answer)


class _Desk(Protocol):
    """Where runs are asked for."""

    def stream(self, asked: RunInput) -> AsyncGenerator[RunEvent | RunResult, None]: ...

    async def abort(self, run_id: str) -> bool: ...

    async def decide(self, approval_id: int, *, approve: bool) -> None: ...


class Agent:
    """Runs for programs. Each is durable: what it was asked and every step of it is in the log of
    its session before anything is done, and a run that a crash cut off goes on in the next process
    under the terms it was asked with."""

    def __init__(self, desk: _Desk) -> None:
        self._desk = desk

    @classmethod
    @asynccontextmanager
    async def open(cls, home: str | Path | None = None) -> AsyncIterator[Agent]:
        """An agent of one's own over a home (NANOBOT_HOME, else ~/.nanobot), without its channels.

        What an earlier process left is taken up first. At the end runs get `drain_seconds`.
        Raises StoreLocked, naming the pid, when another process holds the home, and ConfigError.
        """
        environ = _environment(home)
        gateway = Gateway(load(environ), environ, channels=False)
        try:
            async with gateway.serving("library", lambda _: None) as parts:
                yield cls(_Own(parts))
        except BaseExceptionGroup as group:
            raise _innermost(group) from group

    @classmethod
    @asynccontextmanager
    async def connect(cls, home: str | Path | None = None) -> AsyncIterator[Agent]:
        """The agent of the gateway that serves a home. Raises NotServed when none does."""
        config = load(_environment(home))
        desk = _Remote(config)
        await desk.check()
        yield cls(desk)

    async def run(self, asked: RunInput) -> RunResult:
        """Ask, and wait for the result. Asked again with the same `run_id`, it waits for the same
        run, or returns what is recorded; with other input it raises RunConflict."""
        asked = _named(asked)
        async with aclosing(self._desk.stream(asked)) as items:
            async for item in items:
                if isinstance(item, RunResult):
                    return item
        raise errors.Disconnected(f"run {asked.run_id} goes on; ask for it again by its run_id")

    async def run_stream(self, asked: RunInput) -> AsyncIterator[RunEvent]:
        """Ask, and watch. The last event is of kind `end`; a recorded run has that one only. Events
        of single tokens may be lost by a slow watcher. Whoever leaves early does not end the run:
        `abort` does."""
        async with aclosing(self._desk.stream(_named(asked))) as items:
            async for item in items:
                if isinstance(item, RunEvent):
                    yield item

    async def abort(self, run_id: str) -> bool:
        """End a run for good; what it wrote stays in the log. False: it had ended already. Raises
        UsageError for a run that no program asked for."""
        return await self._desk.abort(run_id)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        """Agree, or not, to a call that a run waits at (an event of kind `approval` has its `id`).
        Raises NanobotError if it is not there or was decided already."""
        await self._desk.decide(approval_id, approve=approve)


class _Own:
    """The programs' desk of this process."""

    def __init__(self, parts: Parts) -> None:
        self._operations = parts.operations
        self.stream = parts.programs.stream
        self.abort = parts.programs.abort

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        await self._operations.call(_DECISIONS[approve], {"id": approval_id})


class _Remote:
    """The programs' desk of another process, by its control socket: one connection a request."""

    def __init__(self, config: Config) -> None:
        self._path = config.home / "control.sock"
        self._home = config.home

    async def check(self) -> None:
        _, writer = await self._connection()
        writer.close()

    async def stream(self, asked: RunInput) -> AsyncGenerator[RunEvent | RunResult, None]:
        reader, writer = await self._connection()
        try:
            writer.write(protocol.encode(protocol.StartRun(asked)))
            while True:
                match await _answer(reader):
                    case protocol.EventLine(event):
                        yield event
                    case protocol.Answered(result):
                        yield result
                        return
                    case _:
                        raise errors.NanobotError("the gateway answered something else")
        finally:
            writer.close()

    async def abort(self, run_id: str) -> bool:
        reader, writer = await self._connection()
        try:
            writer.write(protocol.encode(protocol.AbortRun(run_id)))
            answer = await _answer(reader)
        finally:
            writer.close()
        return isinstance(answer, protocol.Aborted) and answer.ended

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        reader, writer = await self._connection()
        try:
            writer.write(
                protocol.encode(protocol.CallOperation(_DECISIONS[approve], {"id": approval_id}))
            )
            await _answer(reader)
        finally:
            writer.close()

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_unix_connection(self._path, limit=protocol.LINE_LIMIT)
        except (ConnectionError, FileNotFoundError) as error:
            raise errors.NotServed(
                f"no nanobot serves {self._home}: start one, or use Agent.open"
            ) from error


async def _answer(reader: asyncio.StreamReader) -> protocol.Answer:
    """Raises what was refused as what it was, and Disconnected."""
    try:
        raw = await reader.readline()
    except ConnectionError:
        raw = b""
    if not raw:
        raise errors.Disconnected("the connection to nanobot ended; what was asked goes on")
    answer: protocol.Answer = _answers.decode(raw)
    if isinstance(answer, protocol.Refusal):
        named = {"RunConflict": errors.RunConflict}
        known = {2: errors.UsageError, 3: errors.ConfigError, 4: errors.StoreError}
        kind = named.get(answer.error) or known.get(answer.code, errors.NanobotError)
        raise kind(answer.text)
    return answer


def _named(asked: RunInput) -> RunInput:
    """With an id, so that its caller can name the run whatever happens."""
    return asked if asked.run_id else msgspec.structs.replace(asked, run_id=RandomIds().run_id())


def _environment(home: str | Path | None) -> dict[str, str]:
    given = {} if home is None else {"NANOBOT_HOME": str(home)}
    return {**environment(), **given}


def _innermost(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What a caller raised within, as it was raised."""
    inner: BaseException = group
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return inner
