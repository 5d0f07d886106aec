"""The webhooks of a gateway, as configured."""

from __future__ import annotations

import msgspec

from nanobot.app.trigger_plans import plan_of
from nanobot.config.loader import Config
from nanobot.config.settings.triggers import HookSettings
from nanobot.errors import ConfigError
from nanobot.messages import Origin, Role, RunOptions
from nanobot.ports import Clock
from nanobot.session.keys import HOOKS
from nanobot.triggers.cron.jobs import Plan
from nanobot.triggers.cron.service import CronService
from nanobot.triggers.state import TriggerState
from nanobot.triggers.webhooks.checks import wrong
from nanobot.triggers.webhooks.deliveries import NamedDeliveries
from nanobot.triggers.webhooks.webhook import Webhook, Webhooks

HOOKS_WAITING = 1_000
"""Deliveries of one hook that may wait to be acted upon."""


def webhooks_of(
    config: Config,
    cron: CronService,
    zone: str,
    clock: Clock,
    state: TriggerState | None = None,
) -> Webhooks:
    """The webhooks that are switched on; `state` keeps what they have taken. Raises ConfigError."""
    for sentence in wrong(config):
        raise ConfigError(f"{config.file}: {sentence}. Correct it.")
    return Webhooks(
        {
            name: Webhook(
                name,
                hook,
                cron.publisher(_hook_plan(name, hook, zone)),
                clock,
                NamedDeliveries(state, f"hook:{name}"),
            )
            for name, hook in config.hooks.items()
            if hook.enabled
        }
    )


def _hook_plan(name: str, hook: HookSettings, zone: str) -> Plan:
    plan = plan_of(HOOKS.of(name), hook.to, Origin.WEBHOOK, zone)
    own, tools = hook.session == "own", hook.tools or None
    options = RunOptions(
        direct=own,
        unattended=own,
        history=() if own else None,
        model=hook.model,
        tools=() if tools == ("none",) else tools,
        max_iterations=hook.max_iterations or None,
    )
    return msgspec.structs.replace(
        plan,
        role=Role(hook.role),
        session=hook.session,
        options=options,
        waiting=HOOKS_WAITING,
        tainted=True,  # whoever can make the sender send decides what it says
    )
