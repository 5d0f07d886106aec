"""The library: an agent of one's own over a home, or the one that a running gateway has.

async with Agent.open() as agent:
    result = await agent.run(RunInput(messages=[{"role": "user", "content": "Hello"}]))
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from nanobot import errors
from nanobot.agent.library.events import AnyRunEvent, typed
from nanobot.agent.library.run_input import (
    RunInput,
    RunLimits,
    RunResult,
    ToolPolicy,
    checked,
    said_by_program,
)
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.boundary import boundary, ungrouped
from nanobot.bus.core import Bus
from nanobot.config.loader import home_of, load_without_channels
from nanobot.labels import NOTHING
from nanobot.messages import RunEvent
from nanobot.ports import Ids
from nanobot.providers.base import LLMProvider
from nanobot.providers.managed_context import ContextManager
from nanobot.providers.one_provider import OneProvider
from nanobot.server.client import connected
from nanobot.store.database.sqlite import Database
from nanobot.system import RandomIds, environment
from nanobot.tools.base import Tool, ToolExecutor
from nanobot.tools.registry import ToolRegistry

__all__ = ["Agent", "AnyRunEvent", "RunEvent", "RunInput", "RunLimits", "RunResult", "ToolPolicy"]

AgentTool = TypeVar("AgentTool", bound=Tool[Any] | Callable[..., object])

_DECISIONS = {True: "approve", False: "deny"}


class _Runs(Protocol):
    """Where runs are asked for."""

    def stream(
        self, request: RunInput, *, program: bool
    ) -> AsyncGenerator[RunEvent | RunResult, None]: ...

    async def abort(self, run_id: str) -> bool: ...

    async def decide(self, approval_id: int, *, approve: bool) -> None: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Any: ...


class Agent:
    """Runs for programs. Each is durable: what it was asked and every step of it is in the log of
    its session before anything is done, and a run that a crash cut off goes on in the next process
    under the options it was asked with."""

    def __init__(self, runs: _Runs, ids: Ids | None = None, *, program: bool = False) -> None:
        self._runs = runs
        self._ids = ids or RandomIds()
        self._program = program

    @classmethod
    @asynccontextmanager
    async def open(  # noqa: PLR0913 - each is a collaborator that may be one's own
        cls,
        home: str | Path | None = None,
        *,
        provider: LLMProvider | None = None,
        model: str | None = None,
        tools: Sequence[AgentTool] = (),
        registry: ToolRegistry | None = None,
        executor: ToolExecutor | None = None,
        context_manager: ContextManager | None = None,
        database_url: str | None = None,
        store: Database | None = None,
        ids: Ids | None = None,
        observer: Callable[[AnyRunEvent], object] | None = None,
        program: bool = False,
    ) -> AsyncIterator[Agent]:
        """An agent of one's own over a home (NANOBOT_HOME, else ~/.nanobot), without its channels.

        `provider` takes the place of the configured models, and answers as `model` (its own default
        if it is not given). `tools`, or typed functions, are there besides the others; they are
        closures over whatever they need at run time. A `registry` is there in the place of all of
        them, an `executor` runs them, a `context_manager` shapes each request that a model is sent.
        `database_url` is the store's, in the place of the configured one; a `store` is an open
        database of SQLite (`in_memory_database()` is one), which stays open. `ids` makes the ids of
        runs. `observer` is called with every event of every run here; what it raises is logged.
        `program`: what is asked for is content from outside, and not the owner's word.

        What an earlier process left is taken up first. At the end runs get `drain_seconds`.
        Raises StoreLocked, naming the pid, when another process holds the home, ConfigError, and
        UsageError for a tool that cannot be one, and for two stores, or tools beside a registry.
        """
        if registry is not None and tools:
            raise errors.UsageError("tools: register them with the `registry` that is given")
        if store is not None and (database_url is not None or store.dialect != "sqlite"):
            raise errors.UsageError("store: an open database of SQLite, without a `database_url`")
        environ = _environment(home)
        if database_url is not None:
            environ["NANOBOT_DATABASE_URL"] = database_url
        given = Program(
            provider=None if provider is None else OneProvider(provider, model),
            tools=tuple(tools),
            registry=registry,
            executor=executor,
            context_manager=context_manager,
            store=store,
        )
        gateway = Gateway(
            load_without_channels(environ), environ, channels=False, ids=ids, program=given
        )
        with ungrouped():
            async with (
                gateway.serving("library", lambda _: None) as parts,
                _observed(parts.engine.bus, observer),
            ):
                yield cls(_Own(parts), ids, program=program)

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, home: str | Path | None = None, *, program: bool = False
    ) -> AsyncIterator[Agent]:
        """The agent of the gateway that serves a home. `program`: what is asked for is content from
        outside, and not the owner's word. Raises NotServed when none does."""
        place = home_of(_environment(home))
        async with connected(place):
            pass
        yield cls(_Remote(place), program=program)

    async def run(self, request: RunInput) -> RunResult:
        """Ask, and wait for the result. Asked again with the same `run_id`, it waits for the same
        run, or returns what is recorded; with other input it raises RunConflict."""
        request = self._named(request)
        async with aclosing(self._runs.stream(request, program=self._program)) as items:
            async for item in items:
                if isinstance(item, RunResult):
                    return item
        raise errors.Disconnected(f"run {request.run_id} goes on; ask for it again by its run_id")

    async def run_stream(self, request: RunInput) -> AsyncIterator[AnyRunEvent]:
        """Ask, and watch. The last event is of kind `end`; a recorded run has that one only. Events
        of single tokens may be lost by a slow watcher. Whoever leaves early does not end the run:
        `abort` does."""
        named = self._named(request)
        async with aclosing(self._runs.stream(named, program=self._program)) as items:
            async for item in items:
                if isinstance(item, RunEvent):
                    yield typed(item)

    async def abort(self, run_id: str) -> bool:
        """End a run for good; what it wrote stays in the log. False: it had ended already. Raises
        UsageError for a run that no program asked for."""
        return await self._runs.abort(run_id)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        """Agree, or not, to a call that a run waits at (an event of kind `approval` has its `id`).
        Raises NanobotError if it is not there or was decided already."""
        await self._runs.decide(approval_id, approve=approve)

    async def eval(
        self, folder: str | Path = "", *, models: Sequence[str] = (), runs: int = 0, judge: str = ""
    ) -> dict[str, Any]:
        """Test models with the cases of a folder or file (docs/evals.md), and give what `nanobot
        eval --json` prints. Raises ConfigError for a broken case, ModelUnreachable, and UsageError
        where the plugin `evals` is off."""
        arguments = {"folder": _absolute(folder), "models": ",".join(models)}
        given = await self._runs.call("evals run", {**arguments, "runs": runs, "judge": judge})
        result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(given))
        return result

    def _named(self, request: RunInput) -> RunInput:
        """With an id, so that its caller can name the run whatever happens. Raises UsageError for
        what is wrong with it."""
        request = checked(request)
        if request.run_id:
            return request
        return msgspec.structs.replace(request, run_id=self._ids.run_id())


@asynccontextmanager
async def _observed(
    bus: Bus, observer: Callable[[AnyRunEvent], object] | None
) -> AsyncIterator[None]:
    """Within, the observer is called with each event; before the end with all that came."""
    if observer is None:
        yield
        return
    watching = bus.subscribe(None)

    async def observe() -> None:
        async for event in watching:
            with boundary("the observer of runs"):
                observer(typed(event))

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(observe(), name="observer of runs")
            try:
                yield
            finally:
                watching.end()
    finally:
        bus.unsubscribe(watching)


class _Own:
    """The runs of this process."""

    def __init__(self, parts: Parts) -> None:
        self._operations = parts.operations
        self._stream = parts.run_service.stream
        self.abort = parts.run_service.abort

    def stream(
        self, request: RunInput, *, program: bool
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        return self._stream(request, said_by_program(request) if program else NOTHING)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        await self._operations.call(_DECISIONS[approve], {"id": approval_id})

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._operations.call(name, arguments)


class _Remote:
    """The runs of another process, by its control socket: one connection a request."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def stream(
        self, request: RunInput, *, program: bool
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        async with (
            connected(self._home) as client,
            aclosing(client.stream(request, program=program)) as items,
        ):
            async for item in items:
                yield item

    async def abort(self, run_id: str) -> bool:
        async with connected(self._home) as client:
            return await client.abort(run_id)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        async with connected(self._home) as client:
            await client.call(_DECISIONS[approve], {"id": approval_id})

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        async with connected(self._home) as client:
            return await client.call(name, arguments)


def _environment(home: str | Path | None) -> dict[str, str]:
    variables = {} if home is None else {"NANOBOT_HOME": str(home)}
    return {**environment(), **variables}


def _absolute(path: str | Path) -> str:
    """A path that also a gateway in another folder finds; "" stays empty."""
    return str(Path(path).absolute()) if str(path) else ""
