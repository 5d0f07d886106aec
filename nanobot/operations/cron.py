"""Operations on what is done by the clock."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from nanobot.messages import TERMINAL, Address
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    Limit,
    Operation,
    OperationContext,
)
from nanobot.triggers.cron.editing import MOST_PREVIEWED, JobRequest, Requester, in_text
from nanobot.triggers.cron.jobs import Job, JobView, OccurrenceView, viewed
from nanobot.triggers.cron.schedule import zone_of


class _List(Arguments, frozen=True, kw_only=True):
    state: Annotated[
        Literal["", "active", "paused", "done", "removed", "system"],
        Meta(description="Only in this state: active, paused, done, removed, system."),
    ] = ""
    limit: Limit = 50


class _JobArguments(Arguments, frozen=True, kw_only=True):
    schedule: Annotated[
        str, Meta(description="The schedule, if the text does not begin with it.")
    ] = ""
    zone: Annotated[str, Meta(description="Its time zone, as in Europe/Berlin.")] = ""
    name: Annotated[str, Meta(description="What the job is called.")] = ""
    to: Annotated[str, Meta(description="The chat it speaks in, as CHANNEL:CHAT.")] = ""
    send: Annotated[
        Literal["", "yes", "no"],
        Meta(description="yes: send the text as it is, without the model."),
    ] = ""
    session: Annotated[
        Literal["", "own", "chat"],
        Meta(description="Where its runs are: own (each begins anew), or chat."),
    ] = ""
    model: Annotated[str, Meta(description="The model that is asked.")] = ""
    tools: Annotated[str, Meta(description="The tools it may use, with commas; none, or all.")] = ""
    max_iterations: Annotated[
        int, Meta(ge=0, le=1_000, description="Model calls of a run at most; 0: as configured.")
    ] = 0
    misfire: Annotated[
        Literal["", "skip", "run_once", "run_all"],
        Meta(description="What becomes of times that were missed: skip, run_once, run_all."),
    ] = ""
    window: Annotated[
        float,
        Meta(ge=0, le=30 * 86_400, description="For run_all: seconds to look back."),
    ] = 0.0
    overlap: Annotated[
        Literal["", "skip", "queue", "replace"],
        Meta(description="When the one before is not done: skip, queue, replace."),
    ] = ""
    jitter: Annotated[
        float, Meta(ge=-1, le=86_400, description="Delay each by up to so many seconds.")
    ] = -1.0
    retries: Annotated[
        int, Meta(ge=-1, le=10, description="How often a failed run is repeated.")
    ] = -1
    expires: Annotated[str, Meta(description="Its end, as a time or +30d.")] = ""


class _Add(_JobArguments, frozen=True, kw_only=True):
    text: Annotated[
        First, Meta(description="The schedule, and then what is to be done or said.")
    ] = ""


class _Edit(_JobArguments, frozen=True, kw_only=True):
    job: Annotated[First, Meta(description="Its number, or its name.")]
    text: Annotated[First, Meta(description="What is to be done or said instead.")] = ""


class _JobArgument(Arguments, frozen=True, kw_only=True):
    text: Annotated[First, Meta(description="Its number, or its name.")]


class _History(Arguments, frozen=True, kw_only=True):
    job: Annotated[First, Meta(description="Its number, or its name; nothing: all of them.")] = ""
    limit: Limit = 20


class _Preview(Arguments, frozen=True, kw_only=True):
    text: Annotated[First, Meta(description="The schedule.")]
    zone: Annotated[str, Meta(description="Its time zone, as in Europe/Berlin.")] = ""
    begin: Annotated[str, Meta(description="From that time on, as in 2026-12-24T18:00.")] = (
        msgspec.field(name="from", default="")
    )
    count: Annotated[int, Meta(ge=1, le=MOST_PREVIEWED, description="How many times.")] = 5


class DueView(msgspec.Struct, frozen=True, kw_only=True):
    """A time to come: unix seconds, and as the clocks of its zone show it."""

    unix: float
    time: str


def _asker(caller: Caller) -> Requester:
    return Requester(
        role=caller.role,
        sender_id=caller.by,
        address=caller.address or Address(TERMINAL, "direct"),
        session_key=caller.session_key,
        key=caller.key,
    )


def _wish(asked: _JobArguments, schedule: str, text: str) -> JobRequest:
    return JobRequest(
        schedule=schedule or None,
        text=text or None,
        zone=asked.zone or None,
        name=asked.name or None,
        to=asked.to or None,
        send=asked.send == "yes" if asked.send else None,
        session=asked.session or None,
        model=asked.model or None,
        tools=asked.tools or None,
        max_iterations=asked.max_iterations or None,
        misfire=asked.misfire or None,
        window=asked.window or None,
        overlap=asked.overlap or None,
        jitter=asked.jitter if asked.jitter >= 0 else None,
        retries=asked.retries if asked.retries >= 0 else None,
        expires=asked.expires or None,
    )


async def _list(operations: OperationContext, caller: Caller, asked: _List) -> list[JobView]:
    found = await operations.engine.book.listed(
        _asker(caller), state=asked.state, limit=asked.limit
    )
    return [viewed(job) for job in found]


async def _add(operations: OperationContext, caller: Caller, asked: _Add) -> JobView:
    schedule, text = asked.schedule, asked.text
    if not schedule:
        schedule, text = in_text(text)
    wish = _wish(asked, schedule, text)
    return viewed(await operations.engine.book.add(_asker(caller), wish))


async def _edit(operations: OperationContext, caller: Caller, asked: _Edit) -> JobView:
    wish = _wish(asked, asked.schedule, asked.text)
    return viewed(await operations.engine.book.edit(_asker(caller), asked.job, wish))


async def _run(operations: OperationContext, caller: Caller, asked: _JobArgument) -> JobView:
    return viewed(await operations.engine.book.trigger(_asker(caller), asked.text))


async def _pause(operations: OperationContext, caller: Caller, asked: _JobArgument) -> JobView:
    return viewed(await operations.engine.book.pause(_asker(caller), asked.text))


async def _resume(operations: OperationContext, caller: Caller, asked: _JobArgument) -> JobView:
    return viewed(await operations.engine.book.resume(_asker(caller), asked.text))


async def _remove(operations: OperationContext, caller: Caller, asked: _JobArgument) -> JobView:
    return viewed(await operations.engine.book.remove(_asker(caller), asked.text))


async def _history(
    operations: OperationContext, _: Caller, asked: _History
) -> list[OccurrenceView]:
    return await operations.engine.book.history(asked.job, asked.limit)


async def _preview(operations: OperationContext, _: Caller, asked: _Preview) -> list[DueView]:
    book = operations.engine.book
    zone = zone_of(asked.zone or book.zone)
    found = book.preview(asked.text, zone.key, asked.begin, asked.count)
    shown = (datetime.fromtimestamp(time, zone) for time in found)
    return [
        DueView(unix=time.timestamp(), time=time.strftime("%a %Y-%m-%d %H:%M:%S %Z"))
        for time in shown
    ]


def told(one: JobView | Job) -> str:
    """A job in a sentence, for whoever changed it."""
    job = viewed(one) if isinstance(one, Job) else one
    text = f"Job #{job.id} ({job.name}) is {job.state}: {job.schedule}"
    if job.next_at is None:
        return f"{text}."
    zone = zone_of(job.zone)
    then = datetime.fromtimestamp(job.next_at, zone).strftime("%a %Y-%m-%d %H:%M")
    return f"{text}; next {then} ({job.zone})."


def _told(one: JobView, _: float) -> str:
    return told(one)


JOBS: tuple[Operation, ...] = (
    Operation(
        name="cron list",
        help="lists what is done by the clock",
        run=_list,
        arguments=_List,
        returns=list[JobView],
    ),
    Operation(
        name="cron add",
        help="does something by the clock: the schedule, then what",
        run=_add,
        arguments=_Add,
        returns=JobView,
        text=_told,
    ),
    Operation(
        name="cron edit",
        help="changes a job",
        run=_edit,
        arguments=_Edit,
        returns=JobView,
        text=_told,
    ),
    Operation(
        name="cron run",
        help="does a job now, besides its schedule",
        run=_run,
        arguments=_JobArgument,
        returns=JobView,
        text=lambda job, _: f"Job #{job.id} ({job.name}) is being done now.",
    ),
    Operation(
        name="cron pause",
        help="does nothing of a job until it is resumed",
        run=_pause,
        arguments=_JobArgument,
        returns=JobView,
        text=_told,
    ),
    Operation(
        name="cron resume",
        help="goes on with a job",
        run=_resume,
        arguments=_JobArgument,
        returns=JobView,
        text=_told,
    ),
    Operation(
        name="cron remove",
        help="forgets a job",
        run=_remove,
        arguments=_JobArgument,
        returns=JobView,
        text=_told,
    ),
    Operation(
        name="cron history",
        help="shows what became of a job's times",
        run=_history,
        arguments=_History,
        returns=list[OccurrenceView],
    ),
    Operation(
        name="cron preview",
        help="shows when a schedule would be due",
        run=_preview,
        arguments=_Preview,
        returns=list[DueView],
    ),
)
