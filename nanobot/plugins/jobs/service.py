"""The jobs of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.bus.core import Bus
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.jobs.store.reads import JobReads
from nanobot.plugins.jobs.timer import CronService
from nanobot.ports import Clock
from nanobot.store.opening import Store
from nanobot.triggers.service import Jobs, JobService


def objects(store: Store, bus: Bus, clock: Clock) -> Mapping[Any, Any]:
    """The service, which the gateway runs, also by the name that programs know, and its store."""
    jobs = SqlJobs(store.database, store.writer)
    service = CronService(jobs, bus, clock)
    return {JobService: service, CronService: service, Jobs: jobs}


def store_hooks() -> JobReads:
    """What marks the sessions of jobs as read."""
    return JobReads()
