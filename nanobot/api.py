"""The library: an agent of one's own over a home, or the one that a running gateway has.

async with Agent.open() as agent:
    result = await agent.run(RunInput(messages=[{"role": "user", "content": "Hello"}]))
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from nanobot import errors
from nanobot.agent.requests import RunInput, RunLimits, RunResult, ToolPolicy
from nanobot.app.assembly import Parts
from nanobot.app.gateway import Gateway
from nanobot.boundary import ungrouped
from nanobot.config.loader import load
from nanobot.messages import RunEvent
from nanobot.server.client import connected
from nanobot.system import RandomIds, environment

__all__ = ["Agent", "RunEvent", "RunInput", "RunLimits", "RunResult", "ToolPolicy"]

_DECISIONS = {True: "approve", False: "deny"}


class _Runs(Protocol):
    """Where runs are asked for."""

    def stream(self, request: RunInput) -> AsyncGenerator[RunEvent | RunResult, None]: ...

    async def abort(self, run_id: str) -> bool: ...

    async def decide(self, approval_id: int, *, approve: bool) -> None: ...


class Agent:
    """Runs for programs. Each is durable: what it was asked and every step of it is in the log of
    its session before anything is done, and a run that a crash cut off goes on in the next process
    under the terms it was asked with."""

    def __init__(self, runs: _Runs) -> None:
        self._runs = runs

    @classmethod
    @asynccontextmanager
    async def open(cls, home: str | Path | None = None) -> AsyncIterator[Agent]:
        """An agent of one's own over a home (NANOBOT_HOME, else ~/.nanobot), without its channels.

        What an earlier process left is taken up first. At the end runs get `drain_seconds`.
        Raises StoreLocked, naming the pid, when another process holds the home, and ConfigError.
        """
        environ = _environment(home)
        gateway = Gateway(load(environ), environ, channels=False)
        with ungrouped():
            async with gateway.serving("library", lambda _: None) as parts:
                yield cls(_Own(parts))

    @classmethod
    @asynccontextmanager
    async def connect(cls, home: str | Path | None = None) -> AsyncIterator[Agent]:
        """The agent of the gateway that serves a home. Raises NotServed when none does."""
        config = load(_environment(home))
        async with connected(config.home):
            pass
        yield cls(_Remote(config.home))

    async def run(self, request: RunInput) -> RunResult:
        """Ask, and wait for the result. Asked again with the same `run_id`, it waits for the same
        run, or returns what is recorded; with other input it raises RunConflict."""
        request = _named(request)
        async with aclosing(self._runs.stream(request)) as items:
            async for item in items:
                if isinstance(item, RunResult):
                    return item
        raise errors.Disconnected(f"run {request.run_id} goes on; ask for it again by its run_id")

    async def run_stream(self, request: RunInput) -> AsyncIterator[RunEvent]:
        """Ask, and watch. The last event is of kind `end`; a recorded run has that one only. Events
        of single tokens may be lost by a slow watcher. Whoever leaves early does not end the run:
        `abort` does."""
        async with aclosing(self._runs.stream(_named(request))) as items:
            async for item in items:
                if isinstance(item, RunEvent):
                    yield item

    async def abort(self, run_id: str) -> bool:
        """End a run for good; what it wrote stays in the log. False: it had ended already. Raises
        UsageError for a run that no program asked for."""
        return await self._runs.abort(run_id)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        """Agree, or not, to a call that a run waits at (an event of kind `approval` has its `id`).
        Raises NanobotError if it is not there or was decided already."""
        await self._runs.decide(approval_id, approve=approve)


class _Own:
    """The runs of this process."""

    def __init__(self, parts: Parts) -> None:
        self._operations = parts.operations
        self.stream = parts.programs.stream
        self.abort = parts.programs.abort

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        await self._operations.call(_DECISIONS[approve], {"id": approval_id})


class _Remote:
    """The runs of another process, by its control socket: one connection a request."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def stream(self, request: RunInput) -> AsyncGenerator[RunEvent | RunResult, None]:
        async with connected(self._home) as client, aclosing(client.stream(request)) as items:
            async for item in items:
                yield item

    async def abort(self, run_id: str) -> bool:
        async with connected(self._home) as client:
            return await client.abort(run_id)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        async with connected(self._home) as client:
            await client.call(_DECISIONS[approve], {"id": approval_id})


def _named(request: RunInput) -> RunInput:
    """With an id, so that its caller can name the run whatever happens."""
    return (
        request if request.run_id else msgspec.structs.replace(request, run_id=RandomIds().run_id())
    )


def _environment(home: str | Path | None) -> dict[str, str]:
    variables = {} if home is None else {"NANOBOT_HOME": str(home)}
    return {**environment(), **variables}
