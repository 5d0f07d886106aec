"""The operations of forks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from nanobot.errors import RowUnreadable, UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Arguments, for_owners
from nanobot.operations.rendering import Now
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.plugins.common.runs.recorded import Otherwise
from nanobot.plugins.common.runs.run_ids import RunId, run_of, runs_in
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.common.views.views import RunView
from nanobot.plugins.fork.comparing import ComparisonView, Side, as_text, compared
from nanobot.plugins.fork.plan import ForkRequest, results_of
from nanobot.session.entries import Entry, decode
from nanobot.session.keys import FORKS, is_fork
from nanobot.session.states import RunState
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.fork.service import Forks

_MOST_PROMPT = 200_000
_MOST_TEXT = 100_000
_PAUSE = 0.1
_ENDED = (RunState.COMPLETED, RunState.FAILED, RunState.ABORTED, RunState.AWAITING_HUMAN)

MachineFile = Annotated[str, Meta(extra={"machine": True})]


class ForkView(msgspec.Struct, frozen=True, kw_only=True):
    """A fork: its run and session, the entry that it shares last, and the hash of the parent's log
    there. `comparison`: both runs, if the fork was waited for and has ended. `notes`: the
    differences from the parent's run.
    """

    run: str
    session_key: str
    parent: str
    parent_session: str
    entry: int
    head: str
    state: str
    notes: tuple[str, ...] = ()
    comparison: ComparisonView | None = None


def _forks(context: OperationContext) -> Forks:
    """The service, imported late: every command imports this module, and few need the store."""
    from nanobot.plugins.fork.service import Forks  # noqa: PLC0415 - loads the store

    return Forks.of(context)


def _text(view: ForkView, _: Now) -> Sentence:
    head = f"Fork {view.run} of run {view.parent} at entry {view.entry}: {view.state}."
    lines = [head, *view.notes]
    if view.comparison is not None:
        return "\n".join([*lines, "", as_text(view.comparison)])
    compare = f"`runs compare {view.parent} {view.run}`"
    return "\n".join([*lines, f"When it has ended, {compare} shows both."])


class ForkOptions(Arguments, frozen=True, kw_only=True):
    """What a fork does otherwise than its parent."""

    at: (
        Annotated[
            int,
            Meta(ge=0, description="Last entry to share; default: before the first model call."),
        ]
        | None
    ) = None
    model: Annotated[
        str,
        for_owners("Only owners choose the model of a fork."),
        Meta(description="PROVIDER/MODEL that continues; default: that of the run."),
    ] = ""
    prompt: Annotated[
        MachineFile,
        for_owners("Only owners name a file of this machine."),
        Meta(description="File with another system prompt."),
    ] = ""
    system: Annotated[
        str,
        for_owners("Only owners change the system prompt of a fork."),
        Meta(max_length=_MOST_PROMPT, description="Another system prompt, as text."),
    ] = ""
    say: Annotated[
        str, Meta(max_length=_MOST_TEXT, description="Message to add after the shared entries.")
    ] = ""
    tool: Annotated[
        str, Meta(description="Result of a tool: NAME=RESULT, or a JSON object of several.")
    ] = ""
    otherwise: Annotated[
        Literal["copy", "ask", "refuse"],
        Meta(
            description="Calls that the run did not make: copy (files and commands in a copy of "
            "the workspace, others refused), ask (others ask a person), refuse."
        ),
    ] = "copy"
    wait: Annotated[
        float, Meta(ge=0, le=100, description="Seconds to wait for its end, to compare both.")
    ] = 0.0


@operation("runs fork", role=Role.MEMBER, text=_text, example="01m80aj3rq at=12 otherwise=refuse")
async def fork_run(
    context: OperationContext, caller: Caller, id: RunId, options: ForkOptions
) -> ForkView:
    """Continue a run from one of its entries, in a session of its own and without effects."""
    run = await run_of(context, caller, id)
    if options.prompt and options.system:
        raise UsageError("Give --prompt or --system, not both.")
    if options.wait and caller.address is not None:
        raise UsageError("A chat does not wait for a fork: leave out `wait`, and compare later.")
    if options.wait and not context.of(GatewayFacts).now().serving:
        raise UsageError(
            "No gateway is running, so the fork would not be driven: leave out --wait, and it "
            "begins with the next start."
        )
    system = options.system
    if options.prompt:
        caller.at_this_machine("runs fork with a file")
        system = await asyncio.to_thread(_file, options.prompt)
    request = ForkRequest(
        at=options.at,
        model=options.model,
        prompt=system,
        say=options.say.strip(),
        results=results_of(options.tool),
        otherwise=Otherwise(options.otherwise),
        by=caller.by,
        role=caller.role,
        asked=f"{caller.session_key}:{caller.key}" if caller.key else "",
    )
    forks = _forks(context)
    fork = await forks.begin(run.id, request)
    return await _view(context, forks, fork, options.wait)


def _file(path: str) -> str:
    try:
        data = Path(path).read_bytes()[: _MOST_PROMPT + 1]
    except OSError as error:
        raise UsageError(f"prompt: {path} cannot be read: {error.strerror or error}") from None
    if len(data) > _MOST_PROMPT:
        raise UsageError(f"prompt: {path} has more than {_MOST_PROMPT:,} bytes")
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise UsageError(f"prompt: {path} is not UTF-8 text") from None
    if not text:
        raise UsageError(f"prompt: {path} is empty")
    return text


async def _view(context: OperationContext, forks: Forks, fork: str, wait: float) -> ForkView:
    runs, clock = runs_in(context), context.engine.clock
    run = await runs.run(fork)
    until = clock.monotonic() + wait
    while run is not None and run.state not in _ENDED and clock.monotonic() < until:
        await clock.sleep(_PAUSE)
        run = await runs.run(fork)
    origin = await forks.store.origin(FORKS.of(fork))
    if run is None or origin is None:
        raise UsageError(f"Fork {fork} was deleted.")
    parent = await runs.run(origin.run)
    comparison = None
    if wait and run.ended_at is not None and parent is not None:
        comparison = await _compared(context, forks, parent, run)
    return ForkView(
        run=run.id,
        session_key=run.session_key,
        parent=origin.run,
        parent_session=origin.session,
        entry=origin.entry,
        head=origin.head,
        state=str(run.state),
        notes=await _notes(context, run),
        comparison=comparison,
    )


async def _notes(context: OperationContext, run: RunView) -> tuple[str, ...]:
    row = await context.engine.journal.session(run.session_key)
    if row is not None and row.prompt is None:
        return ("The prompt of that run is gone: the fork gets the current one.",)
    if run.state is RunState.AWAITING_HUMAN:
        return ("It waits for an approval: `/approvals list` shows it.",)
    return ()


def _comparison_text(view: ComparisonView, _: Now) -> Sentence:
    return as_text(view)


@operation(
    "runs compare",
    role=Role.MEMBER,
    reads=True,
    text=_comparison_text,
    example="01m80aj3rq 01m80b2c4d",
)
async def compare_runs(
    context: OperationContext, caller: Caller, id: RunId, other: RunId
) -> ComparisonView:
    """Show two runs side by side: their steps, answers, cost and time.

    The steps, answers, cost and time of both are side by side.
    """
    a = await run_of(context, caller, id)
    b = await run_of(context, caller, other)
    return await _compared(context, _forks(context), a, b)


async def _compared(
    context: OperationContext, forks: Forks, a: RunView, b: RunView
) -> ComparisonView:
    sides = [await _side(context, forks, run) for run in (a, b)]
    return await asyncio.to_thread(compared, sides[0], sides[1])


async def _side(context: OperationContext, forks: Forks, run: RunView) -> Side:
    views = await runs_in(context).entries(run.id)
    entries = await asyncio.to_thread(_entries, views)
    origin = await forks.store.origin(run.session_key) if is_fork(run.session_key) else None
    return Side(
        run=run,
        entries=entries,
        parent="" if origin is None else origin.run,
        forked_at=None if origin is None else origin.entry,
    )


def _entries(views: tuple[EntryView, ...]) -> list[Entry]:
    return [_entry(view) for view in views]


def _entry(view: EntryView) -> Entry:
    """The typed entry; one of a newer version counts as erased."""
    try:
        body = None if view.body is None else decode(msgspec.json.encode(view.body))
    except RowUnreadable:
        body = None
    return Entry(view.seq, view.run_id, view.at, body)


def operations() -> list[Operation]:
    """All operations."""
    return [fork_run, compare_runs]
