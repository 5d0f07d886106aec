"""Approvals: a person allows or refuses a call of a tool, or answers a question."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.keys.approval_settings import ApprovalSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="approvals",
    summary="A person approves or denies calls of tools, and answers the assistant's questions.",
    texts=Path(__file__).parent,
    shares=(ApprovalSettings,),
    tables=("nanobot.plugins.common.store.rule_tables",),
    reserves=("ask_user",),
    store_hooks="nanobot.plugins.approvals.store.waits:SqlWaits",
    always_objects="nanobot.plugins.approvals.service:always_objects",
    objects="nanobot.plugins.approvals.service:objects",
    operations="nanobot.plugins.approvals.operations:operations",
    tools="nanobot.plugins.approvals.ask_user:tools",
    groups={"approvals": "Approvals: pending and decided calls."},
    provides={
        "asker": "nanobot.plugins.approvals.asking:request",
        "judge": "nanobot.plugins.common.policy.policy:Policy",
        "human_waits": "nanobot.plugins.approvals.store.waits:SqlWaits",
        "undecided": "nanobot.plugins.approvals.store.undecided:undecided",
    },
)
