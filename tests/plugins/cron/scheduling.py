"""The scheduled jobs of a test gateway."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import msgspec

from nanobot import testing
from nanobot.bus.core import Bus
from nanobot.plugins.cron.editing import JobEditor
from nanobot.plugins.cron.operations import operations
from nanobot.plugins.cron.store.jobs import SqlJobs
from nanobot.ports import Clock
from nanobot.testing.gateway import Brought, FakeGateway, MemoryHome, Options, Process
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import FakeChannel
from nanobot.tools.base import AnyTool
from nanobot.triggers.service import CronService


def jobs_of(process: Process) -> SqlJobs:
    """The jobs in a process's store."""
    return SqlJobs(process, process.writer)


def scheduled(zone: str, bot: FakeGateway) -> Brought:
    """Jobs that the gateway fires by the clock, with their operations."""
    jobs = bot.cron.timetable = jobs_of(bot.process)
    editor = JobEditor(jobs, bot.home.clock, zone, bot.cron.announce)
    return Brought(operations=tuple(operations()), offers={JobEditor: editor})


def scheduling(options: Options | None = None) -> Options:
    """These options, and jobs."""
    options = options or Options()
    return msgspec.structs.replace(options, brings=partial(scheduled, options.settings.zone))


def gateway(
    provider: ScriptedProvider | None = None,
    channel: FakeChannel | None = None,
    *,
    tools: Sequence[AnyTool] = (),
    home: MemoryHome | None = None,
    options: Options | None = None,
) -> AbstractAsyncContextManager[FakeGateway]:
    """As that of nanobot.testing, with jobs."""
    options = scheduling(options)
    return testing.gateway(provider, channel, tools=tools, home=home, options=options)


def editor_of(bot: FakeGateway) -> JobEditor:
    """What adds and changes its jobs."""
    return bot.offers.get(JobEditor)


def service_over(jobs: SqlJobs, bus: Bus, clock: Clock) -> CronService:
    """A service of these jobs, which it fires by the clock."""
    service = CronService(jobs, bus, clock)
    service.timetable = jobs
    return service
