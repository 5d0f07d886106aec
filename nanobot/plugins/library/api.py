"""The library: an agent in this process over a home, or the agent of a running gateway.

async with Agent.open() as agent:
    result = await agent.run(RunInput(messages=[{"role": "user", "content": "Hello"}]))
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from nanobot import errors
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.boundary import boundary, ungrouped
from nanobot.bus.core import Bus
from nanobot.config.loader import Config, home_of
from nanobot.config.plugin_tables import switched
from nanobot.labels import NOTHING
from nanobot.messages import RunEvent
from nanobot.plugins.common.control.client import connected
from nanobot.plugins.common.keys.without_channels import load_without_channels
from nanobot.plugins.common.runs.checked_input import checked
from nanobot.plugins.common.runs.program_label import said_by_program
from nanobot.plugins.common.runs.run_input import (
    RunInput,
    RunLimits,
    RunResult,
    ToolPolicy,
)
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.library.events import AnyRunEvent, typed
from nanobot.plugins.library.managed_context import ContextManager, managing
from nanobot.ports import Ids
from nanobot.providers.base import LLMProvider
from nanobot.providers.one_provider import OneProvider
from nanobot.store.database.database import Database
from nanobot.system import RandomIds, environment
from nanobot.tools.base import Tool, ToolExecutor
from nanobot.tools.registry import ToolRegistry

__all__ = ["Agent", "AnyRunEvent", "RunEvent", "RunInput", "RunLimits", "RunResult", "ToolPolicy"]

AgentTool = TypeVar("AgentTool", bound=Tool[Any] | Callable[..., object])

_DECISIONS = {True: "approve", False: "deny"}


class _Runs(Protocol):
    """Accepts requests for runs."""

    def stream(
        self, request: RunInput, *, program: bool
    ) -> AsyncGenerator[RunEvent | RunResult, None]: ...

    async def abort(self, run_id: str) -> bool: ...

    async def decide(self, approval_id: int, *, approve: bool) -> None: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Any: ...


class Agent:
    """Runs for programs. Each is durable: its request and every step are logged before anything is
    done. If a crash interrupts a run, the next process continues it with the same options."""

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
        """An agent in this process over a home (NANOBOT_HOME, else ~/.nanobot), without channels.

        `provider` replaces the configured models and answers as `model` (default: its own).
        `tools`, or typed functions, are added to the other tools; they are closures over whatever
        they need at run time. A `registry` replaces all of these, an `executor` runs them, and a
        `context_manager` shapes each request to a model. `database_url` overrides the configured
        store; a `store` is an open SQLite database (such as `in_memory_database()`), which stays
        open. `ids` makes the ids of runs. `observer` is called with every event of every run here;
        its exceptions are logged. `program`: requests count as content from outside, not as the
        owner's words.

        Unfinished work of an earlier process is resumed first. On exit, runs get `drain_seconds`.
        Raises StoreLocked, which names the pid, if another process holds the home, ConfigError, and
        UsageError for an invalid tool, for two stores, or for tools together with a registry.
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
            wrap_models=None if context_manager is None else managing(context_manager),
            store=store,
        )
        gateway = Gateway(_config(environ), environ, channels=False, ids=ids, program=given)
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
        """The agent of the gateway that serves a home. `program`: requests count as content from
        outside, not as the owner's words. Raises NotServed if no gateway serves it."""
        place = home_of(_environment(home))
        async with connected(place):
            pass
        yield cls(_Remote(place), program=program)

    async def run(self, request: RunInput) -> RunResult:
        """Request a run and wait for the result. With a known `run_id`, this waits for that run or
        returns its recorded result; with other input it raises RunConflict."""
        request = self._named(request)
        async with aclosing(self._runs.stream(request, program=self._program)) as items:
            async for item in items:
                if isinstance(item, RunResult):
                    return item
        raise errors.Disconnected(f"run {request.run_id} continues; request it again by its run_id")

    async def run_stream(self, request: RunInput) -> AsyncIterator[AnyRunEvent]:
        """Request a run and watch it. The last event has kind `end`; a recorded run has only that
        one. A slow watcher may lose events of single tokens. Leaving early does not end the run:
        call `abort` for that."""
        named = self._named(request)
        async with aclosing(self._runs.stream(named, program=self._program)) as items:
            async for item in items:
                if isinstance(item, RunEvent):
                    yield typed(item)

    async def abort(self, run_id: str) -> bool:
        """End a run permanently; its log is kept. False: it had already ended. Raises UsageError
        for a run that no program requested."""
        return await self._runs.abort(run_id)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        """Approve or deny a call that a run waits for (an event of kind `approval` has its `id`).
        Raises NanobotError if there is no such approval or it was already decided."""
        await self._runs.decide(approval_id, approve=approve)

    async def eval(
        self, cases: str | Path = "", *, models: Sequence[str] = (), runs: int = 0, judge: str = ""
    ) -> dict[str, Any]:
        """Test models with the cases of a folder or file (docs/evals.md), and give what `nanobot
        eval --json` prints. Raises ConfigError for a broken case, ModelUnreachable, and UsageError
        where the plugin `evals` is off."""
        arguments = {"folder": _absolute(cases), "models": ",".join(models)}
        given = await self._runs.call("evals run", {**arguments, "runs": runs, "judge": judge})
        result: dict[str, Any] = _plain(given)
        return result

    async def replay(self, run: str = "") -> list[dict[str, Any]]:
        """Replay a run, a session, or everything ("") without models and tools (docs/replay.md),
        and give what `nanobot runs replay --json` prints. Raises NanobotError that shows the first
        difference, and UsageError for an unknown run and where the plugin `replay` is off."""
        given = await self._runs.call("runs replay", {"name": run} if run else {"all": True})
        result: list[dict[str, Any]] = _plain(given)
        return result

    async def fork(  # noqa: PLR0913 - each is an option of the command
        self,
        run: str,
        *,
        at: int | None = None,
        model: str = "",
        prompt: str = "",
        say: str = "",
        tools: Mapping[str, str] | None = None,
        otherwise: Literal["copy", "ask", "refuse"] = "copy",
        wait: float = 100.0,
    ) -> dict[str, Any]:
        """Continue a run from an entry in a session of its own and without effects (docs/fork.md),
        wait for its end at most `wait` seconds (up to 100), and give what `nanobot runs fork
        --json` prints. `prompt` is the text of another system prompt, `tools` gives results of
        tools by name. Raises UnknownId, UsageError, and NanobotError for an entry that cannot be
        shared.
        """
        arguments: dict[str, Any] = {"id": run, "model": model, "system": prompt, "say": say}
        arguments |= {"otherwise": otherwise, "wait": wait} | ({} if at is None else {"at": at})
        if tools:
            arguments["tool"] = msgspec.json.encode(tools).decode()
        given = await self._runs.call("runs fork", arguments)
        result: dict[str, Any] = _plain(given)
        return result

    def _named(self, request: RunInput) -> RunInput:
        """Add an id, so that the caller can always refer to the run. Raises UsageError for an
        invalid request."""
        request = checked(request)
        if request.run_id:
            return request
        return msgspec.structs.replace(request, run_id=self._ids.run_id())


@asynccontextmanager
async def _observed(
    bus: Bus, observer: Callable[[AnyRunEvent], object] | None
) -> AsyncIterator[None]:
    """While inside, call the observer with each event; before leaving, with all that came."""
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
        runs = parts.plugged.offers.get(RunService)
        self._stream, self.abort = runs.stream, runs.abort

    def stream(
        self, request: RunInput, *, program: bool
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        return self._stream(request, said_by_program(request) if program else NOTHING)

    async def decide(self, approval_id: int, *, approve: bool) -> None:
        await self._operations.call(_DECISIONS[approve], {"id": approval_id})

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._operations.call(name, arguments)


class _Remote:
    """The runs of another process, through its control socket, with one connection per request."""

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


def _config(environ: Mapping[str, str]) -> Config:
    """Raises ConfigError, also if programs may not open the home."""
    config = load_without_channels(environ)
    if why := switched(config).off.get("library"):
        raise errors.ConfigError(f"programs cannot open {config.home}. {why}")
    return config


def _plain(given: Any) -> Any:
    """A result as JSON has it, whichever process gave it."""
    raw = bytes(given) if isinstance(given, bytes | msgspec.Raw) else msgspec.json.encode(given)
    return msgspec.json.decode(raw)


def _absolute(path: str | Path) -> str:
    """A path that also a gateway in another folder finds; "" stays empty."""
    return str(Path(path).absolute()) if str(path) else ""
