"""The scheduled jobs of a gateway, and of a program's CronService."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.served_channels import ServedChannels
from nanobot.plugins.common.times.guessed_zone import says_nothing
from nanobot.plugins.cron.editing import JobEditor
from nanobot.plugins.cron.jobs import following
from nanobot.plugins.cron.tool import cron_tool
from nanobot.plugins.cron.zone_question import ZoneQuestion
from nanobot.system import Zone
from nanobot.tools.base import AnyTool


def objects(config: Config, service: JobService, zone: Zone, bus: Bus) -> Mapping[Any, Any]:
    """The editor of jobs, which are fired by the clock from now on. It asks for a time zone if none
    is given or configured."""
    jobs, chats = service.jobs, ServedChannels(config.addressed, bus)
    jobs.following = following
    editor = JobEditor(jobs, service.clock, zone, service.announce, chats)
    if not config.agent.zone and says_nothing(zone):
        editor.zone_question = ZoneQuestion(jobs)
    return {JobEditor: editor}


def tools(editor: JobEditor) -> list[AnyTool]:
    """The tool with which the model schedules jobs."""
    return [cron_tool(editor)]


def scheduling(service: JobService, zone: str) -> AnyTool:
    """Have the service of a program fire jobs by the clock. Returns the tool that schedules them;
    times without a zone are in `zone`."""
    service.jobs.following = following
    return cron_tool(JobEditor(service.jobs, service.clock, zone, service.announce))
