"""The approvals of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.plugins.approvals.decisions import ChatDecisions
from nanobot.plugins.approvals.port import Approvals
from nanobot.plugins.approvals.store.approvals import SqlApprovals
from nanobot.plugins.approvals.store.waiting import UndecidedWaits
from nanobot.plugins.common.approvals import ApprovalRecords, OpenQuestions
from nanobot.ports import Clock
from nanobot.session.decisions import Decisions
from nanobot.session.journal import Journal
from nanobot.session.records import Records
from nanobot.store.opening import Store
from nanobot.store.unit import HumanWaits


def objects(store: Store, journal: Journal, records: Records, clock: Clock) -> Mapping[Any, Any]:
    """The approvals, for operations and other plugins, and what decides them in chats."""
    approvals = SqlApprovals(store.database, store.writer)
    decisions = ChatDecisions(approvals, journal, records, clock)
    return {
        Approvals: approvals,
        ApprovalRecords: approvals,
        Decisions: decisions,
        OpenQuestions: decisions,
    }


def always_objects() -> Mapping[Any, Any]:
    """How runs that wait continue while the plugin is off."""
    return {HumanWaits: UndecidedWaits()}
