"""The configured triggers of a gateway, each with its publisher."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from loguru import logger

from nanobot.app.trigger_plans import NEEDED, plan_of
from nanobot.config.loader import Config
from nanobot.messages import Origin
from nanobot.seam.entry_points import Plugins
from nanobot.triggers.base import Publisher, Trigger, Watching
from nanobot.triggers.plugins import opened
from nanobot.triggers.service import JobService


def triggers_of(
    config: Config,
    jobs: JobService | None,
    zone: str,
    plugins: Plugins,
) -> dict[str, tuple[Trigger, Publisher]]:
    """The enabled triggers, by name; none where nothing does jobs. Raises ConfigError."""
    triggers: dict[str, tuple[Trigger, Publisher]] = {}
    for name, trigger in opened(config.triggers, plugins).items():
        if jobs is None:
            logger.warning("triggers.{} does nothing, because it needs {}", name, NEEDED)
            continue
        plan = plan_of(f"trigger:{name}", config.triggers[name].to, Origin.EVENT, zone)
        # The source of a package's texts is unknown.
        plan = msgspec.structs.replace(plan, tainted=True)
        triggers[f"trigger:{name}"] = (trigger, jobs.publisher(plan))
    return triggers


def seen_by(triggers: Mapping[str, tuple[Trigger, Publisher]]) -> dict[str, str]:
    """What the watches of the machine last saw, by name."""
    return {
        f"{name}.{watch}": seen
        for name, (trigger, _) in triggers.items()
        if isinstance(trigger, Watching)
        for watch, seen in trigger.seen().items()
    }
