"""The tool with which the model schedules jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from nanobot.errors import ToolError, UsageError
from nanobot.plugins.common.jobs.plans import Job
from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.common.typed import by_words
from nanobot.plugins.cron.editing import JobEditor, JobRequest, Requester
from nanobot.plugins.cron.jobs import viewed
from nanobot.plugins.cron.schedule import Every, parse
from nanobot.plugins.cron.typed import is_typed
from nanobot.plugins.cron.wording import said_back
from nanobot.tools.base import CallContext, Effect, Tool

_LISTED = 50
_TEXT_CHARS = 80
_OFTEN_SECONDS = 60.0


class CronArgs(msgspec.Struct, frozen=True):
    """Arguments of cron."""

    action: Annotated[
        Literal["add", "list", "remove", "pause", "resume", "run"],
        msgspec.Meta(description="What to do"),
    ]
    schedule: Annotated[
        str,
        msgspec.Meta(
            description="For add: `+20m`, `2026-12-24T18:00`, `tomorrow at 18:00` (all once), "
            "`every 2 hours`, `every weekday at 9`, or a cron expression such as `0 9 * * 1-5`"
        ),
    ] = ""
    message: Annotated[
        str,
        msgspec.Meta(
            description="For add: what you will be asked to do then, complete in itself; you will "
            "not see this conversation. Your answer is sent to this chat"
        ),
    ] = ""
    zone: Annotated[
        str, msgspec.Meta(description="For add: the time zone, as in Europe/Berlin")
    ] = ""
    job_id: Annotated[
        str, msgspec.Meta(description="For remove, pause, resume, run: number or name of the job")
    ] = ""


def cron_tool(editor: JobEditor) -> Tool[CronArgs]:
    """cron: every call only writes rows to the store, and a repeated call changes nothing more."""

    async def run(args: CronArgs, context: CallContext) -> str:
        try:
            return await _done(editor, args, context)
        except UsageError as error:
            raise ToolError(str(error)) from error

    return Tool(
        name="cron",
        description=(
            "Do things later or regularly: add a job with a schedule, list the jobs, remove, "
            f"pause, resume or run one. Times are in {editor.zone} unless a zone is given."
        ),
        args=CronArgs,
        run=run,
        effect=Effect.STORE,
        taints=False,
        typed=by_words(is_typed),
        danger=_danger,
    )


def _danger(args: CronArgs) -> str:
    """Whether a person should approve the schedule, because it could use up the budget."""
    if args.action != "add":
        return ""
    try:
        schedule = parse(args.schedule, "UTC", 0.0)
    except UsageError:  # the call itself says it
        return ""
    often = isinstance(schedule, Every) and schedule.seconds < _OFTEN_SECONDS
    return "it would run more often than once a minute" if often else ""


async def _done(editor: JobEditor, args: CronArgs, context: CallContext) -> str:
    requester = Requester(
        role=context.role,
        sender_id=context.sender_id,
        address=context.address,
        session_key=context.session_key,
        key=context.key,
        origin=context.origin,
        run_id=context.run_id,
        tainted=context.tainted,
        label=context.label.encoded(),
    )
    if args.action == "list":
        jobs = await editor.listed(requester, state="", limit=_LISTED)
        return "\n".join(_line(job) for job in jobs) or "There are no jobs."
    if args.action == "add":
        request = JobRequest(schedule=args.schedule, text=args.message, zone=args.zone or None)
        job, asked = await editor.add(requester, request), editor.zone_question
        question = await asked.about(job, zone_named=bool(args.zone)) if asked else ""
        ask = f"\nAsk the person: {question}" if question else ""
        return f"Added: {_line(job, said=True)}{ask}"
    if not args.job_id.strip():
        raise UsageError(f"job_id: {args.action} needs the number of the job; `list` shows it")
    if args.action == "remove":
        return f"Removed: {_line(await editor.remove(requester, args.job_id))}"
    if args.action == "run":
        return f"It is being done now: {_line(await editor.trigger(requester, args.job_id))}"
    job = await editor.find(requester, args.job_id)
    state = "paused" if args.action == "pause" else "active"
    if job.state != state:  # a repeated call finds it done
        change = editor.pause if args.action == "pause" else editor.resume
        job = await change(requester, args.job_id)
    return f"It is {job.state} now: {_line(job)}"


def _line(job: Job, *, said: bool = False) -> str:
    """A job as one line; `said`: with the text for the person, the rule in words and its times."""
    view, text = viewed(job, times=said), " ".join(job.plan.text.split())
    rule = f"{view.schedule} = {said_back(view.rule, view.zone, view.times)}"
    then = "not due"
    if job.next_at is not None:
        time = datetime.fromtimestamp(job.next_at, zone_of(view.zone))
        then = f"next {time:%a %Y-%m-%d %H:%M}"
    return f"#{job.id} {view.name} [{job.state}] {rule}, {then}: {text[:_TEXT_CHARS]}"
