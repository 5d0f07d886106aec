"""The webhooks of a gateway, as configured."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nanobot.messages import Origin, Role, RunOptions
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.store.trigger_state import SqlTriggerState
from nanobot.plugins.common.trigger_state import TriggerState
from nanobot.plugins.hooks.deliveries import NamedDeliveries
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.webhook import Webhook, Webhooks
from nanobot.ports import Clock
from nanobot.session.keys import Keys
from nanobot.store.opening import Store
from nanobot.system import Zone

HOOKS = Keys("hook")
"""One per webhook: its job. Never change it: databases contain it."""
HOOKS_WAITING = 1_000
"""Maximum number of a hook's deliveries that wait to be processed."""


def deliveries(
    hooks: Mapping[str, HookSettings], jobs: JobService, zone: Zone, clock: Clock, store: Store
) -> Webhooks:
    """The enabled webhooks."""
    return webhooks_of(hooks, jobs, zone, clock, SqlTriggerState(store.database, store.writer))


def webhooks_of(
    hooks: Mapping[str, HookSettings],
    jobs: JobService,
    zone: str,
    clock: Clock,
    state: TriggerState | None = None,
) -> Webhooks:
    """The same; `state` stores their accepted deliveries."""
    return Webhooks(
        {
            name: Webhook(
                name,
                hook,
                jobs.publisher(_hook_plan(jobs, name, hook, zone)),
                clock,
                NamedDeliveries(state, f"hook:{name}"),
            )
            for name, hook in hooks.items()
            if hook.enabled
        }
    )


def _hook_plan(jobs: JobService, name: str, hook: HookSettings, zone: str) -> Plan:
    plan = jobs.trigger_plan(HOOKS.of(name), hook.to, Origin.WEBHOOK, zone)
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
        tainted=True,  # the sender controls the text
    )
