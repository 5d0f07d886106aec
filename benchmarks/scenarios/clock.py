"""What is done by the clock: a day of 10,000 jobs in minutes."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import BenchmarkError, Stage, Subject
from nanobot.bus.core import Bus
from nanobot.messages import Address, Role
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.cron.editing import JobEditor, JobRequest, Requester
from nanobot.plugins.cron.jobs import following
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.jobs.timer import LOOK_SECONDS, CronService
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds
from nanobot.testing.machine import ManualClock

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC).timestamp()
DAY = 86_400.0
OWNER = Requester(
    role=Role.OWNER, sender_id="1", address=Address("fake", "1"), session_key="fake:1"
)


async def cron(stage: Stage, _: Subject) -> Sample:
    """A day of 10,000 jobs with a simulated clock: the cost of adding a job, of a check with no job
    due, and of a job that is due.

    The service looks at the store when something is due, and every 30 s at least. Each job puts its
    text into a chat: row, entry, message and next time in one transaction.
    """
    clock = ManualClock(MIDNIGHT)
    opened = open_store(
        stage.home(),
        "",
        contexts(clock, RandomIds(), store_hooks()),
        command="benchmarks",
        crash="",
    )
    try:
        jobs = SqlJobs(opened.database, opened.writer)
        service = CronService(jobs, Bus(opened.journal), clock)
        jobs.following = following
        editor = JobEditor(jobs, clock, "UTC", service.announce)
        adding = await _add(editor, stage.effort.jobs)
        await service.fire()
        begin, used = time.perf_counter(), time.process_time()
        idle, busy = await _day(service, clock)
        done = len(await editor.history("", 10 * stage.effort.jobs))
        if done != stage.effort.jobs:
            raise BenchmarkError(f"of {stage.effort.jobs} jobs {done} were done")
        return {
            "add": adding * 1e3,
            "idle": statistics.median(idle) * 1e3,
            "each": sum(busy) / stage.effort.jobs * 1e3,
            "cpu": (time.process_time() - used) / (len(idle) + len(busy)) * 1e3,
            "day": time.perf_counter() - begin,
        }
    finally:
        await opened.close()


async def _add(editor: JobEditor, jobs: int) -> float:
    seconds: list[float] = []
    for number in range(jobs):
        minute = number * 1_440 // jobs
        wish = JobRequest(
            schedule=f"{minute % 60} {minute // 60} * * *",
            text="Stretch!",
            name=f"job {number}",
            to=f"fake:{number % 500}",
            send=True,
        )
        begin = time.perf_counter()
        await editor.add(OWNER, wish)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


async def _day(service: CronService, clock: ManualClock) -> tuple[list[float], ...]:
    """The looks at which nothing was due, and the others: seconds of each."""
    idle: list[float] = []
    busy: list[float] = []
    while clock.now() < MIDNIGHT + DAY:
        clock.advance(LOOK_SECONDS)
        begin = time.perf_counter()
        fired = await service.fire()
        (busy if fired.owes else idle).append(time.perf_counter() - begin)
    return idle, busy


CRON = Scenario(
    "cron",
    (
        Measure("add", "add a job", "ms"),
        Measure("idle", "a look at which nothing is due", "ms"),
        Measure("each", "a job that is done", "ms"),
        Measure("cpu", "CPU of a look", "ms"),
        Measure("day", "the whole day", "s"),
    ),
    cron,
    subjects=(Subject.NANOBOT,),
)
