"""Operations on scheduled jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.messages import TERMINAL, Address, Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Arguments, Find, Limit, Positional, Rest
from nanobot.operations.rendering import Now
from nanobot.plugins.common.jobs.plans import Job, OccurrenceView
from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.cron.editing import MOST_PREVIEWED, JobEditor, JobRequest, Requester
from nanobot.plugins.cron.jobs import JobView, viewed
from nanobot.plugins.cron.wording import in_words, next_times
from nanobot.text import Sentence

_WhichJob: TypeAlias = Annotated[Positional, Meta(description="Its number, or its name.")]
_OneJob: TypeAlias = Annotated[Rest, Meta(description="Its number, or its name.")]


class _JobArguments(Arguments, frozen=True, kw_only=True):
    """JobRequest, as people write it; missing values are None."""

    schedule: (
        Annotated[str, Meta(description="The schedule, if the text does not start with it.")] | None
    ) = None
    zone: Annotated[str, Meta(description="Its time zone, as in Europe/Berlin.")] | None = None
    name: Annotated[str, Meta(description="The job's name.")] | None = None
    to: (
        Annotated[str, Meta(description="The chat that gets the answer, as CHANNEL:CHAT.")] | None
    ) = None
    send: (
        Annotated[bool, Meta(description="Send the text unchanged, without the model.")] | None
    ) = None
    session: (
        Annotated[
            Literal["own", "chat"],
            Meta(description="A new session for each run, or the chat's session."),
        ]
        | None
    ) = None
    model: Annotated[str, Meta(description="The model to use.")] | None = None
    tools: (
        Annotated[str, Meta(description="Allowed tools, separated by commas; none, or all.")] | None
    ) = None
    max_iterations: (
        Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of model calls in a run.")]
        | None
    ) = None
    misfire: (
        Annotated[
            Literal["skip", "run_once", "run_all"],
            Meta(description="What to do about missed runs."),
        ]
        | None
    ) = None
    window: (
        Annotated[
            float, Meta(gt=0, le=30 * 86_400, description="For run_all: seconds to look back.")
        ]
        | None
    ) = None
    overlap: (
        Annotated[
            Literal["skip", "queue", "replace"],
            Meta(description="What to do if the previous run is still active."),
        ]
        | None
    ) = None
    jitter: (
        Annotated[
            float,
            Meta(
                ge=0, le=86_400, description="Delay each run by a random time of up to N seconds."
            ),
        ]
        | None
    ) = None
    retries: (
        Annotated[int, Meta(ge=0, le=10, description="How many times to retry a failed run.")]
        | None
    ) = None
    expires: Annotated[str, Meta(description="Expires at this time, or +30d.")] | None = None


class DueView(msgspec.Struct, frozen=True, kw_only=True):
    """A due time, in unix seconds and as the clocks of its zone show it. `rule` is the schedule in
    words."""

    unix: float
    time: str
    rule: str
    zone: str


def _requester(caller: Caller) -> Requester:
    return Requester(
        role=caller.role,
        sender_id=caller.by,
        address=caller.address or Address(TERMINAL, "direct"),
        session_key=caller.session_key,
        key=caller.key,
    )


def _request(settings: _JobArguments, schedule: str | None, text: str) -> JobRequest:
    values = {name: value or None for name, value in msgspec.structs.asdict(settings).items()}
    exact = {name: getattr(settings, name) for name in ("send", "jitter", "retries")}
    return JobRequest(**{**values, **exact, "schedule": schedule or None, "text": text or None})


def job_text(job: JobView | Job) -> Sentence:
    """A job in a sentence, for the person who changed it."""
    job = viewed(job, times=True) if isinstance(job, Job) else job
    text = f"Job #{job.id} ({job.name}) is {job.state}: {job.rule}"
    if job.next_at is None:
        return f"{text}."
    if following := next_times(job.zone, job.times):
        return f"{text} ({job.zone}). Next times: {following}.\n{job.question}".rstrip()
    return f"{text} ({job.zone}).\n{job.question}".rstrip()


def _changed(job: Job) -> JobView:
    return viewed(job, times=True)


def _job_text(job: JobView, _: Now) -> Sentence:
    return job_text(job)


@operation(
    "cron list",
    reads=True,
    role=Role.MEMBER,
    example="state=paused",
    empty="`cron add every 2 hours Check the builds` adds a job.",
    shows=("jobs",),
)
async def list_jobs(
    context: OperationContext,
    caller: Caller,
    state: Annotated[
        Literal["", "active", "paused", "done", "removed", "system"],
        Meta(description="Filter by state."),
    ] = "",
    find: Find = "",
    limit: Limit = 50,
) -> list[JobView]:
    """List the scheduled jobs."""
    editor = context.of(JobEditor)
    jobs = await editor.listed(_requester(caller), state=state, find=find, limit=limit)
    return [viewed(job) for job in jobs]


@operation("cron add", text=_job_text, example="every weekday at 9 Check the builds")
async def add_job(
    context: OperationContext,
    caller: Caller,
    settings: _JobArguments,
    text: Annotated[
        Positional, Meta(description="The schedule, followed by the task or the text.")
    ] = "",
) -> JobView:
    """Add a job: the schedule, followed by the task.

    The job asks the model, or with `send` sends the text unchanged.
    """
    schedule = settings.schedule or ""
    if not schedule:
        schedule, text = context.of(JobEditor).in_text(text, settings.zone or "")
    request, editor = _request(settings, schedule, text), context.of(JobEditor)
    job = await editor.add(_requester(caller), request)
    asked = editor.zone_question
    question = await asked.about(job, zone_named=bool(settings.zone)) if asked else ""
    return msgspec.structs.replace(_changed(job), question=question)


@operation("cron edit", text=_job_text, example="3 zone=Europe/Berlin")
async def edit_job(
    context: OperationContext,
    caller: Caller,
    settings: _JobArguments,
    job: _WhichJob,
    text: Annotated[Positional, Meta(description="The new task or text.")] = "",
) -> JobView:
    """Change a job.

    Its next time is computed from now.
    """
    request = _request(settings, settings.schedule, text)
    return _changed(await context.of(JobEditor).edit(_requester(caller), job, request))


def _running(job: JobView, _: Now) -> Sentence:
    return f"Job #{job.id} ({job.name}) is running now."


@operation("cron run", text=_running, example="3")
async def run_job(context: OperationContext, caller: Caller, job: _OneJob) -> JobView:
    """Run a job now; its schedule is unchanged."""
    return viewed(await context.of(JobEditor).trigger(_requester(caller), job))


@operation("cron pause", role=Role.MEMBER, text=_job_text, example="3")
async def pause_job(context: OperationContext, caller: Caller, job: _OneJob) -> JobView:
    """Pause a job until it is resumed."""
    return viewed(await context.of(JobEditor).pause(_requester(caller), job))


@operation("cron resume", text=_job_text, example="3")
async def resume_job(context: OperationContext, caller: Caller, job: _OneJob) -> JobView:
    """Resume a paused job.

    A one-time job whose time has passed runs at once.
    """
    return _changed(await context.of(JobEditor).resume(_requester(caller), job))


@operation("cron remove", role=Role.MEMBER, text=_job_text, example="3")
async def remove_job(context: OperationContext, caller: Caller, job: _OneJob) -> JobView:
    """Remove a job.

    Its pending runs are removed, too. An active run is not stopped.
    """
    return viewed(await context.of(JobEditor).remove(_requester(caller), job))


@operation("cron history", reads=True, role=Role.MEMBER, example="3", shows=("occurrences",))
async def list_occurrences(
    context: OperationContext,
    caller: Caller,
    job: Annotated[Positional, Meta(description="Its number or name; empty: all jobs.")] = "",
    limit: Limit = 20,
) -> list[OccurrenceView]:
    """Show the history of a job's runs."""
    return await context.of(JobEditor).history(job, limit, _requester(caller))


def _due_text(due: list[DueView], _: Now) -> Sentence:
    if not due:
        return "Never."
    return "\n".join((f"{due[0].rule} ({due[0].zone}):", *(each.time for each in due)))


@operation(
    "cron preview", reads=True, role=Role.MEMBER, text=_due_text, example="every weekday at 7:30"
)
async def preview_schedule(
    context: OperationContext,
    _: Caller,
    text: Annotated[Positional, Meta(description="The schedule.")],
    zone: Annotated[str, Meta(description="Its time zone, as in Europe/Berlin.")] = "",
    begin: Annotated[
        str,
        Meta(description="Start at this time, as in 2026-12-24T18:00.", extra={"name": "from"}),
    ] = "",
    count: Annotated[int, Meta(ge=1, le=MOST_PREVIEWED, description="How many times.")] = 5,
) -> list[DueView]:
    """Show the next times of a schedule."""
    book = context.of(JobEditor)
    info = zone_of(zone or book.zone)
    schedule, due = book.preview(text, info.key, begin, count)
    rule = in_words(schedule, info.key, text)
    times = (datetime.fromtimestamp(time, info) for time in due)
    return [
        DueView(
            unix=time.timestamp(),
            time=time.strftime("%a %Y-%m-%d %H:%M:%S %Z"),
            rule=rule,
            zone=info.key,
        )
        for time in times
    ]


def operations() -> list[Operation]:
    """The operations of scheduled jobs."""
    return [
        *(list_jobs, add_job, edit_job, run_job, pause_job, resume_job, remove_job),
        *(list_occurrences, preview_schedule),
    ]
