"""Jobs: what triggers publish and what is scheduled becomes runs, each once."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="jobs",
    summary="Does what triggers and schedules ask for.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.jobs.service:objects",
    store_hooks="nanobot.plugins.jobs.service:store_hooks",
    provides={
        "job_store": "nanobot.plugins.jobs.store.jobs:SqlJobs",
        "cron_service": "nanobot.plugins.jobs.timer:CronService",
    },
)
