"""The runs for what a trigger publishes."""

from __future__ import annotations

from nanobot.addresses import session_at
from nanobot.messages import Address, Origin, Role, RunOptions
from nanobot.plugins.common.jobs.plans import Plan

TRIGGERED = RunOptions(direct=True, unattended=True, history=())
"""Options of such runs: they see no earlier runs, and no person can be asked."""


def plan_of(name: str, to: str, origin: Origin, zone: str) -> Plan:
    """The plan for the trigger `name`: runs in the trigger's session that see no earlier runs, one
    after another. Answers go to the chat `to` (CHANNEL:ID; "": they stay in the log)."""
    channel, _, chat = to.partition(":")
    address = Address(channel, chat) if to else Address(origin.value, name)
    return Plan(
        name=name,
        schedule="@yearly",
        zone=zone,
        anchor=0.0,
        text="",
        address=address,
        session_key=session_at(address),
        sender_id=name,
        role=Role.OWNER,
        options=TRIGGERED,
        overlap="queue",
        post=bool(to),
        origin=origin,
    )
