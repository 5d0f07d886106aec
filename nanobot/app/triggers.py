"""The triggers of a gateway, as configured, each with what becomes of what it publishes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from nanobot.app.trigger_plans import plan_of
from nanobot.config.loader import Config
from nanobot.messages import Origin
from nanobot.ports import Clock
from nanobot.seam.entry_points import Plugins
from nanobot.store.opening import Store
from nanobot.store.repositories.trigger_state import SqlTriggerState
from nanobot.triggers.base import Publisher, Trigger, Watching
from nanobot.triggers.cron.service import CronService
from nanobot.triggers.plugins import opened

if TYPE_CHECKING:
    from nanobot.triggers.webhooks.webhook import Webhooks


def triggers_of(
    config: Config,
    cron: CronService,
    zone: str,
    plugins: Plugins,
) -> dict[str, tuple[Trigger, Publisher]]:
    """Those that are switched on, by their names. Raises ConfigError."""
    triggers: dict[str, tuple[Trigger, Publisher]] = {}
    for name, trigger in opened(config.triggers, plugins).items():
        plan = plan_of(f"trigger:{name}", config.triggers[name].to, Origin.EVENT, zone)
        # Nobody knows where a package has its words from.
        plan = msgspec.structs.replace(plan, tainted=True)
        triggers[f"trigger:{name}"] = (trigger, cron.publisher(plan))
    return triggers


def hooks_of(
    config: Config, cron: CronService, zone: str, clock: Clock, store: Store
) -> Webhooks | None:
    """The webhooks, if there are any. Raises ConfigError."""
    if not any(hook.enabled for hook in config.hooks.values()):
        return None
    from nanobot.app.webhooks import webhooks_of  # noqa: PLC0415 - see above

    state = SqlTriggerState(store.database, store.writer)
    return webhooks_of(config, cron, zone, clock, state)


def seen_by(triggers: Mapping[str, tuple[Trigger, Publisher]]) -> dict[str, str]:
    """What the watches of the machine saw last, by their names."""
    return {
        f"{name}.{watch}": seen
        for name, (trigger, _) in triggers.items()
        if isinstance(trigger, Watching)
        for watch, seen in trigger.seen().items()
    }
