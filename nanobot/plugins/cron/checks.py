"""Problems of scheduled jobs."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.app.zones import zone_of_home
from nanobot.config.loader import Config
from nanobot.errors import NanobotError
from nanobot.operations.home import Finding
from nanobot.plugins.common.times.guessed_zone import guessed, says_nothing
from nanobot.plugins.cron.store import active_jobs
from nanobot.store.servers import url_of
from nanobot.system import environment


def checks(config: Config) -> list[Finding]:
    """Whether jobs use the clock of a machine that does not say where it is."""
    environ = environment()
    zone = zone_of_home(config.agent, environ)
    if config.agent.zone or not says_nothing(zone):
        return []
    try:
        jobs = active_jobs(url_of(config))
    except NanobotError:
        return []  # reported with the store
    if not jobs:
        return []
    text = f"agent.zone is not set and this machine says {zone}: {jobs} job(s) use it"
    remedy = f"`nanobot config set agent.zone {_example(environ)}`, then restart"
    return [Finding(about="zone", level="warning", text=text, remedy=remedy)]


def _example(environ: Mapping[str, str]) -> str:
    zone = guessed(environ)
    return "Europe/Berlin" if says_nothing(zone) else zone
