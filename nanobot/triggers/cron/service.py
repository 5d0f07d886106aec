"""The promised import path of CronService, which the plugin `jobs` provides; the file with the
ending .pyi says the same to type checkers."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.seam.installed import provided
from nanobot.triggers.service import CRON_SERVICE, JobService


def __getattr__(name: str) -> Callable[..., JobService]:
    if name != "CronService":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    service = provided(CRON_SERVICE)
    if service is None:
        raise ImportError(
            "CronService belongs to the plugin jobs, which is not there: `nanobot plugins list` "
            "says why"
        )
    return service
