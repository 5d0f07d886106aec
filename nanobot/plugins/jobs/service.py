"""The jobs of a gateway, and its triggers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from nanobot.bus.core import Bus
from nanobot.plugins.common.jobs.service import Jobs, JobService
from nanobot.plugins.common.jobs.triggers import Triggers
from nanobot.plugins.jobs.settings import TriggerSettings
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.jobs.store.reads import JobReads
from nanobot.plugins.jobs.timer import CronService
from nanobot.plugins.jobs.triggers import GatheredTriggers
from nanobot.ports import Clock
from nanobot.seam.offers import Contributions
from nanobot.seam.works import Works
from nanobot.store.opening import Store
from nanobot.system import Zone


def objects(
    tables: Mapping[str, TriggerSettings],
    store: Store,
    bus: Bus,
    clock: Clock,
    zone: Zone,
    contributions: Contributions,
) -> Mapping[Any, Any]:
    """The service, also by the name that programs know, its store, and the triggers."""
    jobs = SqlJobs(store.database, store.writer)
    service = CronService(jobs, bus, clock)
    triggers = GatheredTriggers(tables, contributions, service, zone)
    return {
        JobService: service,
        CronService: service,
        Jobs: jobs,
        Triggers: triggers,
        GatheredTriggers: triggers,
    }


def worker_objects(triggers: GatheredTriggers | None = None) -> None:
    """Gather the triggers, if this plugin is on: everything that they may ask for is offered now.
    Raises ConfigError for settings that one rejects."""
    if triggers is not None:
        triggers.gather()


@asynccontextmanager
async def one_process(
    service: CronService, triggers: GatheredTriggers, works: Works
) -> AsyncIterator[None]:
    """Fire jobs and run triggers. One that fails is started again; the others continue."""
    works.add("jobs", service.run)
    for name, work in triggers.works().items():
        works.add(name, work)
    yield


def store_hooks() -> JobReads:
    """What marks the sessions of jobs as read."""
    return JobReads()
