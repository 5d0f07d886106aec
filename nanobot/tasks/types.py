"""The types of background runs, and how a run of one of them is performed.

Other packages add types by entry points of the group `nanobot.run_types`: each loads to a RunType.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

import msgspec

from nanobot.boundary import boundary
from nanobot.bus.events import EventKind, RunTerms
from nanobot.errors import ConfigError, ToolArgumentsError, ToolDenied, ToolError, ToolUnknown
from nanobot.journal import Run
from nanobot.ports import Clock
from nanobot.tasks.port import Job, Made, Report
from nanobot.tools.base import CallContext
from nanobot.tools.policy import Verdict
from nanobot.tools.registry import ToolRegistry

GROUP = "nanobot.run_types"
_FIRST_PAUSE = 2.0
_FINAL = (ToolArgumentsError, ToolDenied, ToolUnknown)

In = TypeVar("In", bound=msgspec.Struct)


class Bench:
    """What a run of some type works with: its job, and the tools as its sender may use them."""

    def __init__(self, job: Job, tools: ToolRegistry) -> None:
        self.job = job
        self._tools = tools
        self._calls = 0

    @property
    def run(self) -> Run:
        """The run."""
        return self.job.run

    def tell(self, text: str) -> None:
        """Show whoever watches how far it is."""
        self.job.emit(EventKind.STATUS, state="progress", text=text)

    async def use(self, name: str, **arguments: object) -> str:
        """Make a tool call. Raises ToolError, also for a call that somebody would have to be asked
        about: nobody is there."""
        self._calls += 1
        run = self.run
        context = CallContext(
            run_id=run.id,
            session_key=run.session_key,
            address=run.address,
            sender_id=run.sender_id,
            role=run.role,
            key=f"{run.id}:0:{self._calls}",
            tainted=self.job.tainted,
        )
        encoded = msgspec.json.encode(arguments).decode()
        judged = await self._tools.judge(name, encoded, context)
        if judged.verdict is not Verdict.ALLOW:
            raise ToolDenied(f"{name} is not allowed in the background: {judged.why}")
        return await self._tools.execute(name, encoded, context)


class RunType(msgspec.Struct, Generic[In], frozen=True, kw_only=True):
    """One type.

    `args` is the struct of its input. `text` is the first message of the run's log. `perform` does
    the work and returns what it came to; None: the model does it, with `terms`. It raises ToolError
    for what trying again does not mend, and is otherwise tried `tries` times in all, with growing
    pauses; it may be done again from the start after a crash, so it must bear that. `delay` is how
    many seconds the run waits before it begins, `seconds` how long it may take from then on, by the
    clock on the wall. `report`: how its end is told if nobody says otherwise.
    """

    name: str
    description: str
    args: type[In]
    text: Callable[[In], str]
    perform: Callable[[In, Bench], Awaitable[Made]] | None = None
    terms: Callable[[In], RunTerms] = lambda _: RunTerms(tools=())
    delay: Callable[[In], float] = lambda _: 0.0
    seconds: float = 600.0
    report: Report = "post"
    tries: int = 3

    def parsed(self, given: Any) -> In:
        """The input as the type wants it. Raises ToolArgumentsError."""
        try:
            return msgspec.convert(given, self.args, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ToolArgumentsError(f"input of {self.name}: {error}") from error


AnyRunType = RunType[Any]


class Types:
    """The types there are; see tasks.port.RunTypes."""

    def __init__(self, types: Sequence[AnyRunType], tools: ToolRegistry, clock: Clock) -> None:
        self._types = {one.name: one for one in types}
        self._tools = tools
        self._clock = clock

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(sorted(self._types))

    def get(self, name: str) -> AnyRunType:
        """The type of that name. Raises ToolArgumentsError naming those there are."""
        found = self._types.get(name)
        if found is None:
            known = ", ".join(self.names)
            raise ToolArgumentsError(
                f"type: there is no run type {name[:60]!r}; there are: {known}"
            )
        return found

    async def perform(self, job: Job) -> Made:
        """See tasks.port.RunTypes."""
        kind = self.get(job.terms.type)
        if kind.perform is None:
            raise ToolError(f"a run of type {kind.name} is the model's to do")
        given = kind.parsed(msgspec.json.decode(job.terms.input or "{}"))
        bench = Bench(job, self._tools)
        failure = ToolError(f"{kind.name} was not tried")
        for number in range(kind.tries):
            if number:
                pause = _FIRST_PAUSE * 4.0 ** (number - 1)
                bench.tell(f"{failure}; trying again in {pause:g} s")
                await self._clock.sleep(pause)
            with boundary(f"{kind.name} run {job.run.id}") as caught:
                try:
                    async with asyncio.timeout(kind.seconds):
                        return await kind.perform(given, bench)
                except ToolError as error:
                    failure = error
            if caught.error is not None:
                failure = ToolError(f"{kind.name} failed inside ({type(caught.error).__name__})")
            if isinstance(failure, _FINAL):
                break
        raise failure


def installed() -> list[AnyRunType]:
    """The types of other packages. Raises ConfigError for an entry point that gives none."""
    found = []
    for point in entry_points(group=GROUP):
        loaded = point.load()
        if not isinstance(loaded, RunType):
            raise ConfigError(f"the entry point {point.name} of {GROUP} does not give a RunType")
        found.append(loaded)
    return found
