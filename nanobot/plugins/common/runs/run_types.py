"""The types of background runs.

Other packages add types by entry points of the group `nanobot.run_types`: each loads to a RunType.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Generic, TypeVar, get_args

import msgspec

from nanobot import labels
from nanobot.errors import ToolArgumentsError, ToolDenied, ToolError, ToolUnknown, UsageError
from nanobot.labels import Label
from nanobot.messages import EventKind, RunOptions
from nanobot.plugins.common.runs.background_runs import Report
from nanobot.seam.entry_points import RUN_TYPES, LoadedPlugin, Plugins
from nanobot.session.labelling import of_result
from nanobot.session.run_types import TaskExecution, TaskResult
from nanobot.session.runs import Run
from nanobot.text import pattern
from nanobot.tools.base import CallContext
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import Verdict

_NAME = pattern(r"[a-z0-9_]{1,64}")
_FIRST_PAUSE = 2.0
_FINAL = (ToolArgumentsError, ToolDenied, ToolUnknown)

In = TypeVar("In", bound=msgspec.Struct)


class TaskContext:
    """What a run type can use: its job, and the tools with its sender's rights."""

    def __init__(self, job: TaskExecution, tools: ToolRegistry) -> None:
        self.job = job
        self._tools = tools
        self._calls = 0
        self.label = job.label
        """Of the request, and of all results so far."""

    @property
    def run(self) -> Run:
        return self.job.run

    def tell(self, text: str) -> None:
        """Report progress to watchers."""
        self.job.emit(EventKind.STATUS, state="progress", text=text)

    async def use(self, name: str, **arguments: object) -> str:
        """Call a tool. Raises ToolError, also for a call that needs an approval, because no person
        can be asked here."""
        self._calls += 1
        run = self.run
        context = CallContext(
            run_id=run.id,
            session_key=run.session_key,
            address=run.address,
            sender_id=run.sender_id,
            role=run.role,
            key=f"{run.id}:0:{self._calls}",
            tainted=self.label.tainted,
            label=self.label,
        )
        encoded = msgspec.json.encode(arguments).decode()
        judged = await self._tools.judge(name, encoded, context)
        if judged.verdict is not Verdict.ALLOW:
            raise ToolDenied(f"{name} is not allowed in the background: {judged.why}")
        taints = self._tools.taints(name, encoded, context)
        try:
            output = await self._tools.perform(name, encoded, context)
        except ToolError as error:
            self._saw(name, labels.read(error.label), tainted=taints)
            raise
        self._saw(name, output.label, tainted=taints or output.tainted)
        if output.failed:
            raise ToolError(output.text)
        return output.text

    def _saw(self, name: str, label: Label, *, tainted: bool) -> None:
        self.label = self.label.join(of_result(name, tainted=tainted)).join(label)


class RunType(msgspec.Struct, Generic[In], frozen=True, kw_only=True):
    """One type of background run.

    `perform` does the work and returns the result; None: the model does it, with `options`.
    `perform` raises ToolError if trying again is useless; after other errors it is tried `tries`
    times in total, with growing pauses. After a crash it starts over, so it must be safe to repeat.
    """

    name: str
    description: str
    args: type[In]
    """The struct of its input."""
    text: Callable[[In], str]
    """The first message of the run's log."""
    perform: Callable[[In, TaskContext], Awaitable[TaskResult]] | None = None
    options: Callable[[In], RunOptions] = lambda _: RunOptions(tools=())
    delay: Callable[[In], float] = lambda _: 0.0
    """Seconds before the run begins."""
    seconds: float = 600.0
    """Its maximum wall-clock time after that."""
    report: Report = "post"
    """The default way to report its end."""
    tries: int = 3

    def parsed(self, values: Any) -> In:
        """The input, converted to `args`. Raises ToolArgumentsError."""
        try:
            return msgspec.convert(values, self.args, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ToolArgumentsError(f"input of {self.name}: {error}") from error


AnyRunType = RunType[Any]


def installed(plugins: Plugins, taken: Collection[str]) -> list[AnyRunType]:
    """The types from other packages, except broken ones and those whose name is `taken`."""
    names = set(taken)

    def use(plugin: LoadedPlugin) -> AnyRunType:
        kind = plugin.what
        if not isinstance(kind, RunType):
            raise UsageError(
                f"it gives a {type(kind).__name__}, not a nanobot.agent.tasks.types.RunType"
            )
        wrong = trouble(kind)
        if wrong:
            raise UsageError(f"the run type {str(kind.name)[:64]!r} cannot be used: {wrong}")
        if kind.name in names:
            raise UsageError(f"the name {kind.name} is taken")
        names.add(kind.name)
        return kind

    return plugins.each(RUN_TYPES, use)


def trouble(kind: Any) -> str:
    """What is wrong with a type's definition; empty if nothing is."""
    named = isinstance(kind.name, str) and _NAME.fullmatch(kind.name)
    is_struct = isinstance(kind.args, type) and issubclass(kind.args, msgspec.Struct)
    calls = (
        kind.text,
        kind.options,
        kind.delay,
        *(() if kind.perform is None else (kind.perform,)),
    )
    seconds = isinstance(kind.seconds, int | float) and 0 < kind.seconds < math.inf
    promises = (
        (named, "its name is not of small letters, digits and _"),
        (isinstance(kind.description, str) and kind.description.strip(), "it has no description"),
        (is_struct, "args is not a msgspec.Struct"),
        (all(map(callable, calls)), "text, perform, options and delay must be functions"),
        (seconds, "seconds is not a number above 0"),
        (isinstance(kind.tries, int) and kind.tries > 0, "tries is not a number above 0"),
        (kind.report in get_args(Report), f"report is not one of {get_args(Report)}"),
    )
    return next((why for holds, why in promises if not holds), "")
