"""The promises of nanobot.agent.tasks.types.RunType as checks, for run types of any package.

@pytest.mark.parametrize("check", CHECKS)
async def test_a_run_type_keeps_what_the_port_promises(check: Check) -> None:
    await check(Case(kind=COUNT, good={"path": "."}))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from nanobot.errors import PluginBroken, ToolArgumentsError
from nanobot.labels import NOTHING
from nanobot.messages import Address, EventKind, Origin, Role, RunOptions
from nanobot.plugins.common.runs.background_work import RUN_TYPE_REGISTRY
from nanobot.plugins.common.runs.run_types import AnyRunType, trouble
from nanobot.plugins.kit.machine import ManualClock
from nanobot.plugins.kit.promises import ends_when_cancelled, that
from nanobot.seam.installed import provided
from nanobot.session.run_types import TaskResult
from nanobot.session.runs import Run
from nanobot.session.states import RunKind, RunState
from nanobot.tools.base import AnyTool
from nanobot.tools.registry import ToolRegistry


class RunTypeCase(msgspec.Struct, frozen=True, kw_only=True):
    """A run type to be checked. `good` is input with which it succeeds, with `tools`."""

    kind: AnyRunType
    good: Mapping[str, Any] = {}
    tools: Sequence[AnyTool] = ()


Check: TypeAlias = Callable[[RunTypeCase], Awaitable[None]]


class _Job:
    """See TaskExecution."""

    tainted = False
    label = NOTHING

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.run = Run(
            id="r1",
            session_key="task:r1",
            kind=RunKind.TASK,
            state=RunState.PREPARING,
            origin=Origin.RUN,
            reply_to=None,
            first_seq=0,
            attempts=0,
            created_at=0.0,
            address=Address("task", "r1"),
            sender_id="1001",
            role=Role.OWNER,
        )

    def emit(self, kind: EventKind, **payload: object) -> None:
        """An observer that ignores everything."""


async def _performed(case: RunTypeCase) -> TaskResult:
    tools = ToolRegistry()
    for tool in case.tools:
        tools.register(tool)
    text = msgspec.json.encode(case.kind.parsed(dict(case.good))).decode()
    job = _Job(RunOptions(type=case.kind.name, input=text))
    make = provided(RUN_TYPE_REGISTRY)
    if make is None:
        raise PluginBroken("no plugin performs background runs")
    return await make(lambda: [case.kind], tools, ManualClock()).perform(job)


async def is_written_down_whole(case: RunTypeCase) -> None:
    """Name, description, input and limits are valid."""
    wrong = trouble(case.kind)
    that(not wrong, f"everything about it is as it has to be, but {wrong}")


async def takes_its_input(case: RunTypeCase) -> None:
    """Good input is accepted, and its log begins with a text that describes the task."""
    values = case.kind.parsed(dict(case.good))
    that(case.kind.text(values).strip(), "its text describes the task")
    that(isinstance(case.kind.options(values), RunOptions), "options gives RunOptions")
    that(case.kind.delay(values) >= 0, "delay gives seconds")
    again = msgspec.json.decode(msgspec.json.encode(values))
    that(case.kind.parsed(again) == values, "its input is the same after a restart")


async def refuses_wrong_input(case: RunTypeCase) -> None:
    """Every wrong input of a model gets an error that names the mistake."""
    for wrong in (None, 7, "text", [], [1]):
        try:
            case.kind.parsed(wrong)
        except ToolArgumentsError as error:
            that(case.kind.name in str(error), "an error names the type")
            continue
        raise AssertionError(f"{wrong!r} is refused")


async def performs_and_says_so(case: RunTypeCase) -> None:
    """It produces a result, and reports it."""
    if case.kind.perform is not None:
        result = await _performed(case)
        that(isinstance(result, TaskResult), "perform returns Made")
        that(result.text.strip(), "its result has a text")


async def may_be_done_again(case: RunTypeCase) -> None:
    """After a crash it is executed again from the start."""
    if case.kind.perform is not None:
        await _performed(case)
        await _performed(case)


async def obeys_cancellation(case: RunTypeCase) -> None:
    """Cancelling a run ends it, whatever it is doing."""
    if case.kind.perform is not None:
        await ends_when_cancelled(_performed(case), "a run")


CHECKS: tuple[Check, ...] = (
    is_written_down_whole,
    takes_its_input,
    refuses_wrong_input,
    performs_and_says_so,
    may_be_done_again,
    obeys_cancellation,
)
