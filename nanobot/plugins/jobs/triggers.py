"""The triggers of a gateway, of plugins and of packages, each with its publisher."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import PluginBroken
from nanobot.messages import Origin
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.jobs.triggers import Publisher, Trigger, Watching
from nanobot.plugins.jobs.packages import opened
from nanobot.plugins.jobs.plans import plan_of
from nanobot.plugins.jobs.settings import TriggerSettings
from nanobot.seam.entry_points import Plugins
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.supervision import Work
from nanobot.system import Zone


class GatheredTriggers:
    """See nanobot.plugins.common.jobs.triggers.Triggers."""

    def __init__(
        self,
        tables: Mapping[str, TriggerSettings],
        contributions: Contributions,
        jobs: JobService,
        zone: Zone,
    ) -> None:
        self._tables = tables
        self._contributions = contributions
        self._jobs = jobs
        self._zone = zone
        self.each: dict[str, tuple[Trigger, Publisher]] = {}
        """The enabled ones, by name."""

    def gather(self) -> None:
        for name, trigger in opened(self._tables, Plugins()).items():
            # The source of a package's texts is unknown.
            publisher = self._publisher(name, self._tables[name].to, tainted=True)
            self.each[f"trigger:{name}"] = (trigger, publisher)
        self._contributions.each("triggers", self._take)

    def _take(self, found: FoundPlugin, given: Any) -> None:
        """Take the triggers of a plugin; it may give some their publishers itself."""
        new: dict[str, tuple[Trigger, Publisher]] = {}
        for name, what in dict(given or {}).items():
            trigger, to = what if isinstance(what, tuple) else (what, "")
            if not isinstance(trigger, Trigger):
                kind = type(trigger).__name__
                raise PluginBroken(f"it gives a {kind}, which has no run of nanobot.triggers.base")
            if isinstance(to, str):
                to = self._publisher(name, to, tainted=bool(found.package))
            new[name] = (trigger, to)
        if clash := sorted(set(self.each) & set(new)):
            raise PluginBroken(f"the name {clash[0]} is taken")
        self.each.update(new)

    def _publisher(self, name: str, to: str, *, tainted: bool) -> Publisher:
        plan = plan_of(f"trigger:{name}", to, Origin.EVENT, self._zone)
        return self._jobs.publisher(msgspec.structs.replace(plan, tainted=tainted))

    def works(self) -> dict[str, Work]:
        """What runs each, by the name of its task."""
        return {
            f"trigger {name}": partial(_run, name, trigger, publisher)
            for name, (trigger, publisher) in self.each.items()
        }

    def seen(self) -> Mapping[str, str]:
        return {
            f"{name}.{watch}": seen
            for name, (trigger, _) in self.each.items()
            if isinstance(trigger, Watching)
            for watch, seen in trigger.seen().items()
        }


async def _run(name: str, trigger: Trigger, publisher: Publisher) -> None:
    await trigger.run(publisher)
    logger.info("trigger {} has ended", name)
