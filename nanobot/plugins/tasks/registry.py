"""The available types of background runs, and how they are performed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import msgspec

from nanobot.boundary import boundary
from nanobot.errors import ToolArgumentsError, ToolDenied, ToolError, ToolUnknown
from nanobot.plugins.common.runs.run_types import AnyRunType, TaskContext
from nanobot.ports import Clock
from nanobot.session.run_types import TaskExecution, TaskResult
from nanobot.tools.registry import ToolRegistry

_FIRST_PAUSE = 2.0
_FINAL = (ToolArgumentsError, ToolDenied, ToolUnknown)


class RunTypeRegistry:
    """See RunTypes. `gather` gives the types; it is called when the first one is asked for."""

    def __init__(
        self, gather: Callable[[], Sequence[AnyRunType]], tools: ToolRegistry, clock: Clock
    ) -> None:
        self._gathered = gather
        self._tools = tools
        self._clock = clock

    @cached_property
    def _types(self) -> Mapping[str, AnyRunType]:
        return {run_type.name: run_type for run_type in self._gathered()}

    def gather(self) -> None:
        """Gather them now."""
        self._types  # noqa: B018 - computed once

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._types))

    def get(self, name: str) -> AnyRunType:
        """The type with that name. Raises ToolArgumentsError, which lists the available ones."""
        run_type = self._types.get(name)
        if run_type is None:
            names = ", ".join(self.names)
            raise ToolArgumentsError(
                f"type: there is no run type {name[:60]!r}; there are: {names}"
            )
        return run_type

    async def perform(self, job: TaskExecution) -> TaskResult:
        kind = self.get(job.options.type)
        if kind.perform is None:
            raise ToolError(f"a run of type {kind.name} is the model's to do")
        values = kind.parsed(msgspec.json.decode(job.options.input or "{}"))
        context = TaskContext(job, self._tools)
        failure = ToolError(f"{kind.name} was not tried")
        for number in range(kind.tries):
            if number:
                pause = _FIRST_PAUSE * 4.0 ** (number - 1)
                context.tell(f"{failure}; trying again in {pause:g} s")
                await self._clock.sleep(pause)
            with boundary(f"{kind.name} run {job.run.id}") as caught:
                try:
                    async with asyncio.timeout(kind.seconds):
                        result = await kind.perform(values, context)
                        label = result.label.join(context.label)
                        return msgspec.structs.replace(result, label=label)
                except ToolError as error:
                    failure = error
            if caught.error is not None:
                failure = ToolError(f"{kind.name} failed inside ({type(caught.error).__name__})")
            if isinstance(failure, _FINAL):
                break
        raise failure
