"""Adding and changing jobs, for people and the model, with the limits that apply."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nanobot.addresses import chat_of, session_at
from nanobot.errors import UnknownId, UsageError
from nanobot.messages import WEB, Address, Origin, Role, RunOptions
from nanobot.plugins.common.jobs.plans import Fired, Job, Misfire, OccurrenceView, Overlap, Plan
from nanobot.plugins.common.jobs.service import Jobs
from nanobot.plugins.common.times.local_times import moment
from nanobot.plugins.common.times.zones import known_zone, zone_of
from nanobot.plugins.cron.jobs import following, when
from nanobot.plugins.cron.schedule import Every, Once, Schedule, coming, parse, split
from nanobot.plugins.cron.zone_question import ZoneQuestion
from nanobot.ports import Clock
from nanobot.session import keys

MOST_JOBS = 100
"""Maximum jobs of a person who is not an owner."""
MOST_OF_OWNERS = 20_000
MOST_DEPTH = 3
MOST_TEXT = 20_000
MOST_PREVIEWED = 1_000
_NAME_CHARS = 60
_JUST_BEFORE = 0.001
_PEOPLE = (Origin.USER, Origin.API, Origin.APPROVAL)


class Requester(msgspec.Struct, frozen=True, kw_only=True):
    """The person who asks: their identity, role, chat and session. `key` is the same when the same
    request is repeated; `origin` and `run_id` identify the requesting run, if there is one."""

    role: Role
    sender_id: str
    address: Address
    session_key: str
    key: str = ""
    origin: Origin = Origin.USER
    run_id: str = ""
    tainted: bool = False
    label: str = ""

    @property
    def who(self) -> str:
        """CHANNEL:ID."""
        return keys.person(self.address.channel, self.sender_id)


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The requested properties of a job. In an edit, None leaves a property unchanged; see Plan."""

    schedule: str | None = None
    text: str | None = None
    zone: str | None = None
    name: str | None = None
    to: str | None = None
    send: bool | None = None
    session: str | None = None
    model: str | None = None
    tools: str | None = None
    max_iterations: int | None = None
    misfire: Misfire | None = None
    window: Annotated[float, Meta(gt=0, le=30 * 86_400)] | None = None
    overlap: Overlap | None = None
    jitter: Annotated[float, Meta(ge=0, le=86_400)] | None = None
    retries: Annotated[int, Meta(ge=0, le=10)] | None = None
    expires: str | None = None


class JobEditor:
    """Edits the jobs that the requester may manage: an owner may manage all jobs, others only their
    own.

    `announce` is called with the result of every change. Requests from a job's own run are
    restricted: it may schedule one-time jobs, nested at most MOST_DEPTH deep, and nothing that
    repeats."""

    def __init__(
        self,
        jobs: Jobs,
        clock: Clock,
        zone: str,
        announce: Callable[[Fired], None],
        channels: Collection[str] = (),
    ) -> None:
        self._channels = channels
        self._jobs = jobs
        self._clock = clock
        self.announce = announce
        self.zone_question: ZoneQuestion | None = None
        self.zone = known_zone(zone)

    async def add(self, requester: Requester, request: JobRequest) -> Job:
        """Add a job. Raises UsageError if it is not possible."""
        now = self._clock.now()
        zone = zone_of(request.zone or self.zone).key
        if request.schedule is None or not (request.text or "").strip():
            raise UsageError("a job needs a schedule and a text.")
        schedule = parse(request.schedule, zone, now)
        depth = await self._depth(requester, schedule)
        address = self._address(request.to) if request.to else requester.address
        here = address == requester.address
        text = _text(request.text or "")
        plan = Plan(
            name=_named(request.name or _first_words(text)),
            schedule=schedule.text,
            zone=zone,
            anchor=getattr(schedule, "anchor", now),
            text=text,
            address=address,
            session_key=requester.session_key if here else session_at(address),
            sender_id=requester.sender_id,
            role=requester.role,
            by=requester.who,
            here=here,
            tainted=requester.tainted,
            label=requester.label,
            depth=depth,
        )
        plan = self._requested(plan, request, now)
        most = MOST_OF_OWNERS if requester.role is Role.OWNER else MOST_JOBS
        if not request.name:
            plan = await self._free_name(plan)
        job = await self._jobs.add(plan, self._next(plan, now), requester.key, most)
        self.announce(Fired())
        return job

    async def edit(self, requester: Requester, which: str, request: JobRequest) -> Job:
        """Change a job; its next time is computed from now. Raises UsageError."""
        self._people_only(requester, "change jobs")
        job = await self._own(requester, which)
        _readable(job)
        now = self._clock.now()
        plan = job.plan
        if request.schedule is not None or request.zone is not None:
            zone = zone_of(request.zone or plan.zone).key
            schedule = parse(request.schedule or plan.schedule, zone, now)
            anchor = getattr(schedule, "anchor", now)
            plan = msgspec.structs.replace(plan, schedule=schedule.text, zone=zone, anchor=anchor)
        if request.text is not None:
            plan = msgspec.structs.replace(plan, text=_text(request.text))
        if request.name is not None:
            plan = msgspec.structs.replace(plan, name=_named(request.name))
        if request.to is not None:
            address = self._address(request.to)
            here = address == requester.address
            key = requester.session_key if here else session_at(address)
            plan = msgspec.structs.replace(plan, address=address, session_key=key, here=here)
        plan = self._requested(plan, request, now)
        state = "active" if job.state == "done" else job.state
        next_at = self._next(plan, now) if state == "active" else None
        return await self._keep(job, plan=plan, state=state, next_at=next_at)

    async def pause(self, requester: Requester, which: str) -> Job:
        """Pause a job: it is not due until it is resumed."""
        job = await self._own(requester, which)
        if job.state != "active":
            raise UsageError(f"the job {job.plan.name} is {job.state}: there is nothing to pause.")
        return await self._keep(job, state="paused", next_at=None)

    async def resume(self, requester: Requester, which: str) -> Job:
        """Resume from now; a one-time job whose time has passed runs at once."""
        self._people_only(requester, "resume jobs")
        job = await self._own(requester, which)
        if job.state != "paused":
            raise UsageError(f"the job {job.plan.name} is {job.state}, not paused.")
        _readable(job)
        schedule, now = when(job.plan), self._clock.now()
        next_at = schedule.at if isinstance(schedule, Once) else self._next(job.plan, now)
        return await self._keep(job, state="active", next_at=next_at, reason="")

    async def remove(self, requester: Requester, which: str) -> Job:
        """Remove a job; its waiting runs are dropped."""
        job = await self._own(requester, which)
        if job.state == "removed":
            return job
        return await self._keep(job, state="removed", next_at=None)

    async def trigger(self, requester: Requester, which: str) -> Job:
        """Run a job now; its schedule does not change."""
        self._people_only(requester, "run jobs")
        job = await self._own(requester, which)
        _, fired = await self._jobs.trigger(job.id, at=None, key=requester.key, text="")
        self.announce(fired)
        return job

    async def listed(
        self, requester: Requester, *, state: str, limit: int, find: str = ""
    ) -> list[Job]:
        """The jobs the requester may manage, those due next first; `find`: only those with these
        words in their name or text."""
        by = "" if requester.role is Role.OWNER else requester.who
        return await self._jobs.listed(state=state, by=by, find=find, limit=limit)

    async def history(
        self, which: str, limit: int, requester: Requester | None = None
    ) -> list[OccurrenceView]:
        """The history of a job ("": of every job that the requester may manage), latest first.
        `requester` None: as an owner."""
        if requester is None or requester.role is Role.OWNER:
            job_id = (await self._jobs.find(which)).id if which else None
            return await self._jobs.history(job_id=job_id, limit=limit)
        if which:
            jobs = [await self._own(requester, which)]
        else:
            jobs = await self.listed(requester, state="", limit=MOST_JOBS)
        rows = [row for job in jobs for row in await self._jobs.history(job_id=job.id, limit=limit)]
        return sorted(rows, key=lambda row: -row.scheduled_at)[:limit]

    def in_text(self, text: str, zone: str) -> tuple[str, str]:
        """Split a text into the schedule at its beginning and the task. Raises UsageError."""
        zone, now = zone_of(zone or self.zone).key, self._clock.now()
        schedule, rest = split(text, zone, now)
        if schedule and rest:
            return schedule, rest
        if schedule and text.strip():
            parse(schedule, zone, now)
        begin = " ".join(text.split())[:60]
        found = f"{begin!r} does not begin with a schedule: " if begin and not schedule else ""
        missing = f"{begin!r} is a schedule without a text: " if schedule else found
        raise UsageError(
            f"{missing}write the schedule and then the text, as in `every weekday at 9` "
            "What is new?, `0 9 * * 1-5` What is new?, `每天早上8点` 看看新闻 or `+20m` Remind me "
            "of the tea."
        )

    def preview(self, text: str, zone: str, begin: str, count: int) -> tuple[Schedule, list[float]]:
        """What a text means as a schedule, and its next times after now, or from `begin` (ISO 8601)
        on."""
        zone = zone_of(zone or self.zone).key
        start = moment(begin, zone) if begin else self._clock.now()
        before = start - _JUST_BEFORE if begin else start
        schedule = parse(text, zone, before)
        if isinstance(schedule, Every):
            # An interval begins with its first wait.
            schedule, before = parse(text, zone, start), start
        return schedule, coming(schedule, before, min(count, MOST_PREVIEWED))

    async def find(self, requester: Requester, which: str) -> Job:
        """A job that the requester may manage. Raises UsageError."""
        return await self._own(requester, which)

    async def _own(self, requester: Requester, which: str) -> Job:
        try:
            job = await self._jobs.find(which)
        except UsageError:
            if requester.role is Role.OWNER:
                raise
            job = None
        if job is None or (requester.role is not Role.OWNER and job.plan.by != requester.who):
            raise UnknownId(f"there is no job {which[:60]!r} of yours.")
        if job.state == "system":
            raise UsageError(f"{job.plan.name} belongs to the gateway: config.toml changes it.")
        return job

    async def _keep(self, job: Job, **changes: Any) -> Job:
        changed = msgspec.structs.replace(job, **changes)
        await self._jobs.changed(changed)
        self.announce(Fired())
        return changed

    def _people_only(self, requester: Requester, what: str) -> None:
        if requester.origin not in _PEOPLE:
            raise UsageError(f"the run of a job may not {what}: only people may.")

    async def _depth(self, requester: Requester, schedule: Schedule) -> int:
        """The number of jobs that led to this one. Raises UsageError for an endless chain."""
        if requester.origin in _PEOPLE:
            return 0
        if not isinstance(schedule, Once):
            raise UsageError(
                "a run that no person started cannot create a repeating job: give it a time, as "
                "in `+2h`, or tell the person, who can ask for it."
            )
        depth = await self._jobs.depth(requester.run_id) + 1
        if depth > MOST_DEPTH:
            raise UsageError(
                f"{MOST_DEPTH} jobs made each other already; that is as far as it goes."
            )
        return depth

    def _address(self, text: str) -> Address:
        channel, colon, chat = text.strip().partition(":")
        if not colon or not channel or not chat:
            raise UsageError(
                f"to: {text[:60]!r} is not a chat: write CHANNEL:CHAT, as in telegram:1001."
            )
        if self._channels and channel not in self._channels:
            channels = ", ".join(sorted(self._channels))
            raise UsageError(f"to: no channel {channel[:60]!r} is on; there are {channels}.")
        if channel == WEB:
            chat = chat_of(f"{WEB}:{chat}")
        return Address(channel, chat)

    def _requested(self, plan: Plan, request: JobRequest, now: float) -> Plan:
        """The plan with the other requested properties."""
        changes = {
            name: getattr(request, name)
            for name in ("send", "session", "misfire", "window", "overlap", "jitter", "retries")
            if getattr(request, name) is not None
        }
        if changes.get("session", plan.session) not in {"own", "chat"}:
            raise UsageError("session: `own` (every run begins anew) or `chat` (in the chat's).")
        if request.expires is not None:
            end = parse(request.expires, plan.zone, now) if request.expires else None
            if end is not None and not isinstance(end, Once):
                raise UsageError("expires: a time, as in 2026-12-24T18:00 or +30d.")
            changes["expires_at"] = end.at if end is not None else None
        plan = msgspec.structs.replace(plan, **changes)
        return msgspec.structs.replace(plan, options=_options(plan, request))

    def _next(self, plan: Plan, now: float) -> float:
        at = following(plan, now)
        if at is None:
            raise UsageError("it would never be due: it expires, or has passed, before.")
        return at

    async def _name_taken(self, name: str) -> bool:
        try:
            await self._jobs.find(name)
        except UsageError:
            return False
        return True

    async def _free_name(self, plan: Plan) -> Plan:
        """A name made from the text may be taken; a number is then appended."""
        name, number = plan.name, 2
        while await self._name_taken(name):
            name, number = f"{plan.name} {number}", number + 1
        return msgspec.structs.replace(plan, name=name)


def _readable(job: Job) -> None:
    if not job.readable:
        raise UsageError(
            f"the stored job #{job.id} ({job.plan.name}) cannot be read: remove it, and "
            "add it again."
        )


def _options(plan: Plan, request: JobRequest) -> RunOptions:
    """A run in its own session sees no earlier runs, and its answer is posted."""
    old, own = plan.options, plan.session == "own"
    tools = old.tools
    if request.tools is not None:
        names = tuple(name for name in request.tools.replace(",", " ").split() if name)
        tools = None if names == ("all",) or not names else () if names == ("none",) else names
    return msgspec.structs.replace(
        old,
        direct=own,
        history=() if own else None,
        model=old.model if request.model is None else request.model,
        tools=tools,
        max_iterations=request.max_iterations or old.max_iterations,
    )


def _text(text: str) -> str:
    if not text.strip() or len(text) > MOST_TEXT:
        raise UsageError(f"the text must have 1 to {MOST_TEXT:,} characters.")
    return text.strip()


def _named(name: str) -> str:
    plain = " ".join(name.split())
    if not plain or len(plain) > _NAME_CHARS or plain.isdigit():
        raise UsageError(f"a job's name has 1 to {_NAME_CHARS} characters and is not a number.")
    return plain


def _first_words(text: str) -> str:
    plain = " ".join(text.split())
    short = plain if len(plain) <= 40 else plain[:40].rsplit(" ", 1)[0]
    return f"job {short}" if short.isdigit() else short
