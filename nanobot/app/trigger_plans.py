"""What becomes of what a trigger publishes."""

from __future__ import annotations

from nanobot.addresses import session_at
from nanobot.messages import Address, Origin, Role, RunOptions
from nanobot.triggers.cron.jobs import Plan

TRIGGERED = RunOptions(direct=True, unattended=True, history=())
"""How such runs are: they see nothing of those before, and nobody is there to be asked."""


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
        session_key=session_at(address),
        sender_id=name,
        role=Role.OWNER,
        options=TRIGGERED,
        overlap="queue",
        post=bool(to),
        origin=origin,
    )
