"""Operations on scheduled jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.messages import TERMINAL, Address
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Arguments, Limit, Positional
from nanobot.triggers.cron.editing import MOST_PREVIEWED, JobRequest, Requester, in_text
from nanobot.triggers.cron.jobs import Job, JobView, OccurrenceView, viewed
from nanobot.triggers.cron.schedule import zone_of

_WhichJob: TypeAlias = Annotated[Positional, Meta(description="Its number, or its name.")]


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


class DueView(msgspec.Struct, frozen=True, kw_only=True):
    """A time to come: unix seconds, and as the clocks of its zone show it."""

    unix: float
    time: str


def _requester(caller: Caller) -> Requester:
    return Requester(
        role=caller.role,
        sender_id=caller.by,
        address=caller.address or Address(TERMINAL, "direct"),
        session_key=caller.session_key,
        key=caller.key,
    )


def _request(settings: _JobArguments, schedule: str, text: str) -> JobRequest:
    return JobRequest(
        schedule=schedule or None,
        text=text or None,
        zone=settings.zone or None,
        name=settings.name or None,
        to=settings.to or None,
        send=settings.send == "yes" if settings.send else None,
        session=settings.session or None,
        model=settings.model or None,
        tools=settings.tools or None,
        max_iterations=settings.max_iterations or None,
        misfire=settings.misfire or None,
        window=settings.window or None,
        overlap=settings.overlap or None,
        jitter=settings.jitter if settings.jitter >= 0 else None,
        retries=settings.retries if settings.retries >= 0 else None,
        expires=settings.expires or None,
    )


def told(job: JobView | Job) -> str:
    """A job in a sentence, for whoever changed it."""
    job = viewed(job) if isinstance(job, Job) else job
    text = f"Job #{job.id} ({job.name}) is {job.state}: {job.schedule}"
    if job.next_at is None:
        return f"{text}."
    zone = zone_of(job.zone)
    then = datetime.fromtimestamp(job.next_at, zone).strftime("%a %Y-%m-%d %H:%M")
    return f"{text}; next {then} ({job.zone})."


def _told(job: JobView, _: float) -> str:
    return told(job)


@operation("cron list")
async def list_jobs(
    context: OperationContext,
    caller: Caller,
    state: Annotated[
        Literal["", "active", "paused", "done", "removed", "system"],
        Meta(description="Only in this state: active, paused, done, removed, system."),
    ] = "",
    limit: Limit = 50,
) -> list[JobView]:
    """Lists the scheduled jobs."""
    jobs = await context.engine.book.listed(_requester(caller), state=state, limit=limit)
    return [viewed(job) for job in jobs]


@operation("cron add", text=_told)
async def add_job(
    context: OperationContext,
    caller: Caller,
    settings: _JobArguments,
    text: Annotated[
        Positional, Meta(description="The schedule, and then what is to be done or said.")
    ] = "",
) -> JobView:
    """Schedules a job: the schedule, then what is to be done."""
    schedule = settings.schedule
    if not schedule:
        schedule, text = in_text(text)
    request = _request(settings, schedule, text)
    return viewed(await context.engine.book.add(_requester(caller), request))


@operation("cron edit", text=_told)
async def edit_job(
    context: OperationContext,
    caller: Caller,
    settings: _JobArguments,
    job: _WhichJob,
    text: Annotated[Positional, Meta(description="What is to be done or said instead.")] = "",
) -> JobView:
    """Changes a job."""
    request = _request(settings, settings.schedule, text)
    return viewed(await context.engine.book.edit(_requester(caller), job, request))


def _running(job: JobView, _: float) -> str:
    return f"Job #{job.id} ({job.name}) is being done now."


@operation("cron run", text=_running)
async def run_job(context: OperationContext, caller: Caller, text: _WhichJob) -> JobView:
    """Does a job now, besides its schedule."""
    return viewed(await context.engine.book.trigger(_requester(caller), text))


@operation("cron pause", text=_told)
async def pause_job(context: OperationContext, caller: Caller, text: _WhichJob) -> JobView:
    """Does nothing of a job until it is resumed."""
    return viewed(await context.engine.book.pause(_requester(caller), text))


@operation("cron resume", text=_told)
async def resume_job(context: OperationContext, caller: Caller, text: _WhichJob) -> JobView:
    """Goes on with a job."""
    return viewed(await context.engine.book.resume(_requester(caller), text))


@operation("cron remove", text=_told)
async def remove_job(context: OperationContext, caller: Caller, text: _WhichJob) -> JobView:
    """Forgets a job."""
    return viewed(await context.engine.book.remove(_requester(caller), text))


@operation("cron history")
async def list_occurrences(
    context: OperationContext,
    _: Caller,
    job: Annotated[
        Positional, Meta(description="Its number, or its name; nothing: all of them.")
    ] = "",
    limit: Limit = 20,
) -> list[OccurrenceView]:
    """Shows what became of a job's times."""
    return await context.engine.book.history(job, limit)


@operation("cron preview")
async def preview_schedule(
    context: OperationContext,
    _: Caller,
    text: Annotated[Positional, Meta(description="The schedule.")],
    zone: Annotated[str, Meta(description="Its time zone, as in Europe/Berlin.")] = "",
    begin: Annotated[
        str,
        Meta(description="From that time on, as in 2026-12-24T18:00.", extra={"name": "from"}),
    ] = "",
    count: Annotated[int, Meta(ge=1, le=MOST_PREVIEWED, description="How many times.")] = 5,
) -> list[DueView]:
    """Shows when a schedule would be due."""
    book = context.engine.book
    info = zone_of(zone or book.zone)
    due = book.preview(text, info.key, begin, count)
    times = (datetime.fromtimestamp(time, info) for time in due)
    return [
        DueView(unix=time.timestamp(), time=time.strftime("%a %Y-%m-%d %H:%M:%S %Z"))
        for time in times
    ]
