"""The scheduled jobs of a test gateway."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import msgspec

from nanobot import testing
from nanobot.bus.core import Bus
from nanobot.plugins.cron.editing import JobEditor
from nanobot.plugins.cron.jobs import following
from nanobot.plugins.cron.operations import operations
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.ports import Clock
from nanobot.testing.gateway import Brought, FakeGateway, MemoryHome, Options, Process
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import FakeChannel
from nanobot.tools.base import AnyTool
from nanobot.triggers.cron.service import CronService


def jobs_of(process: Process) -> SqlJobs:
    """The jobs in a process's store, which are due by the clock."""
    return by_the_clock(SqlJobs(process, process.writer))


def by_the_clock(jobs: SqlJobs) -> SqlJobs:
    """Jobs that are due by their schedules, as the plugin has them."""
    jobs.following = following
    return jobs


def scheduled(zone: str, bot: FakeGateway) -> Brought:
    """Jobs that the gateway fires by the clock, with their operations."""
    jobs = bot.cron.jobs
    jobs.following = following
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
    return CronService(by_the_clock(jobs), bus, clock)
