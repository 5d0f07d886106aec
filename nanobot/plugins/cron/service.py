"""The scheduled jobs of a gateway, and of a program's CronService."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.app.peers import ServedChannels
from nanobot.app.zones import says_nothing
from nanobot.config.loader import Config
from nanobot.errors import UsageError
from nanobot.plugins.cron.editing import JobEditor
from nanobot.plugins.cron.jobs import Jobs
from nanobot.plugins.cron.store.jobs import SqlJobs
from nanobot.plugins.cron.tool import cron_tool
from nanobot.plugins.cron.zone_question import ZoneQuestion
from nanobot.store.opening import Store
from nanobot.store.verbs import SqlStore
from nanobot.system import Zone
from nanobot.tools.base import AnyTool
from nanobot.triggers.service import CronService


def objects(
    config: Config, cron: CronService, store: Store, zone: Zone, chats: ServedChannels
) -> Mapping[Any, Any]:
    """The jobs, which `cron` fires from now on, and their editor. It asks for a time zone if none
    is given or configured."""
    jobs = cron.timetable = SqlJobs(store.database, store.writer)
    editor = JobEditor(jobs, store.writer.clock, zone, cron.announce, chats)
    if not config.agent.zone and says_nothing(zone):
        editor.zone_question = ZoneQuestion(jobs)
    return {Jobs: jobs, JobEditor: editor}


def tools(editor: JobEditor) -> list[AnyTool]:
    """The tool with which the model schedules jobs."""
    return [cron_tool(editor)]


def scheduling(cron: CronService, zone: str) -> AnyTool:
    """Have the service of a program fire jobs by the clock. Returns the tool that schedules them;
    times without a zone are in `zone`. Raises UsageError for jobs of another store."""
    if not isinstance(cron.jobs, SqlStore):
        kind = type(cron.jobs).__name__
        raise UsageError(f"cron_service: its jobs are a {kind}: make it with `MessageBus.jobs`")
    jobs = cron.timetable = SqlJobs(cron.jobs.database, cron.jobs.writer)
    return cron_tool(JobEditor(jobs, cron.jobs.writer.clock, zone, cron.announce))
