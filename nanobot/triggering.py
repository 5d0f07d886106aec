"""The triggers of a gateway, as configured, each with what becomes of what it publishes."""

from __future__ import annotations

import msgspec

from nanobot.bus.events import Address, Origin, Role, RunTerms
from nanobot.config import Config
from nanobot.cron.jobs import Plan
from nanobot.cron.service import CronService
from nanobot.plugins import Plugins
from nanobot.triggers.base import Publisher, Trigger
from nanobot.triggers.installed import opened

_TERMS = RunTerms(direct=True, unattended=True, history=())


def triggers_of(
    config: Config, cron: CronService, zone: str, plugins: Plugins
) -> dict[str, tuple[Trigger, Publisher]]:
    """Those that are switched on, by their names. Raises ConfigError."""
    made: dict[str, tuple[Trigger, Publisher]] = {}
    for name, trigger in opened(config.triggers, plugins).items():
        plan = plan_of(f"trigger:{name}", config.triggers[name].to, Origin.EVENT, zone)
        # Nobody knows where a package has its words from.
        plan = msgspec.structs.replace(plan, tainted=True)
        made[f"trigger:{name}"] = (trigger, cron.publisher(plan))
    return made


def plan_of(name: str, to: str, origin: Origin, zone: str) -> Plan:
    """What becomes of what the trigger `name` publishes: a run in a session of the trigger's own,
    which sees nothing of those before; its answer goes to the chat `to` (CHANNEL:ID; "": it stays
    in the log). One after the other."""
    channel, _, chat = to.partition(":")
    address = Address(channel, chat) if to else Address(origin.value, name)
    return Plan(
        name=name,
        schedule="@yearly",
        zone=zone,
        anchor=0.0,
        text="",
        address=address,
        session_key=str(address),
        sender_id=name,
        role=Role.OWNER,
        terms=_TERMS,
        overlap="queue",
        post=bool(to),
        origin=origin,
    )
