"""Makes forks, and completes those that an earlier process began."""

from __future__ import annotations

from functools import partial

from loguru import logger

from nanobot.bus.core import Bus
from nanobot.errors import ConfigError, ModelError, UsageError
from nanobot.operations.operation import OperationContext
from nanobot.plugins.fork.plan import CannotFork, ForkRequest, Source, plan_of
from nanobot.plugins.fork.store import SqlForks
from nanobot.ports import Clock
from nanobot.providers.base import Models
from nanobot.seam.works import Works
from nanobot.session.keys import FORKS
from nanobot.session.states import RunKind
from nanobot.store.opening import Store
from nanobot.tools.registry import ToolRegistry

_LOOK_SECONDS = 300.0


class Forks:
    """The forks of one gateway."""

    def __init__(self, store: SqlForks, models: Models, tools: ToolRegistry, bus: Bus) -> None:
        self.store = store
        self._models = models
        self._tools = tools
        self._bus = bus

    @classmethod
    def of(cls, context: OperationContext) -> Forks:
        """The forks of the gateway in which an operation runs."""
        engine, store = context.engine, context.of(Store)
        forks = SqlForks(store.database, store.writer)
        return cls(forks, engine.models, engine.tools, engine.bus)

    async def begin(self, run_id: str, request: ForkRequest) -> str:
        """Fork a run, and return the id of the fork's run. Raises NanobotError if the run cannot be
        forked there.
        """
        source = await self.store.source(run_id, request)
        await self._check_model(source, request)
        await self._check_tools(source, request)
        fork = await self.store.create(plan_of(source, request))
        await self.complete(fork)
        return fork

    async def complete(self, run_id: str) -> None:
        """Copy the remaining entries, each page in a transaction, and queue the run."""
        try:
            while not await self.store.copy(run_id):
                pass
        except CannotFork:
            await self.store.abandon(run_id)
            raise
        self._bus.wake(FORKS.of(run_id), RunKind.TASK)

    async def complete_all(self, clock: Clock) -> None:
        """Complete the forks that were begun and left: by a process that died, or by a caller who
        was cancelled. Two may complete the same fork: each page is copied once.
        """
        while True:
            for run_id in await self.store.unfinished():
                try:
                    await self.complete(run_id)
                except CannotFork as error:
                    logger.warning("fork {} was given up: {}", run_id, error)
            await clock.sleep(_LOOK_SECONDS)

    async def _check_model(self, source: Source, request: ForkRequest) -> None:
        label = request.model or source.model
        try:
            await self._models.pick(label)
        except (ConfigError, ModelError) as error:
            if request.model:
                raise UsageError(f"model: {error}") from error
            raise UsageError(
                f"The model {label} of run {source.run.id} cannot be used ({error}): "
                "name another one with --model."
            ) from error

    async def _check_tools(self, source: Source, request: ForkRequest) -> None:
        if not request.results:
            return
        known = {tool.name for tool, _, _ in self._tools.listed()}
        strange = sorted(set(request.results) - known)
        if not strange:
            return
        called: set[str] = set()
        after = 0
        while some := await self.store.calls(source.run.id, after):
            after = some[-1].seq
            called |= {getattr(entry.body, "name", "") for entry in some} - {""}
        if missing := sorted(set(strange) - called):
            names = ", ".join(sorted(called)) or "none"
            raise UsageError(f"tool: there is no tool {missing[0]!r}; the run called: {names}")


def start(
    works: Works, store: Store, models: Models, tools: ToolRegistry, bus: Bus, clock: Clock
) -> None:
    """Complete forks that were begun and left."""
    forks = Forks(SqlForks(store.database, store.writer), models, tools, bus)
    works.add("forks", partial(forks.complete_all, clock))
