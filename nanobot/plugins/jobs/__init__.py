"""Jobs: what triggers publish and what is scheduled becomes runs, each once."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.jobs.settings import TriggerSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="jobs",
    summary="Does what triggers and schedules ask for.",
    texts=Path(__file__).parent,
    settings=TriggerSettings,
    table="triggers",
    named=True,
    tables=(
        "nanobot.plugins.common.store.job_tables",
        "nanobot.plugins.common.store.trigger_tables",
    ),
    objects="nanobot.plugins.jobs.service:objects",
    worker_objects="nanobot.plugins.jobs.service:worker_objects",
    store_hooks="nanobot.plugins.jobs.service:store_hooks",
    one_process="nanobot.plugins.jobs.service:one_process",
    provides={
        "job_store": "nanobot.plugins.jobs.store.jobs:SqlJobs",
        "cron_service": "nanobot.plugins.jobs.timer:CronService",
    },
)
