"""Builds the auditor of a gateway."""

from __future__ import annotations

from typing import Any

from nanobot.app.live_settings import LiveSettings
from nanobot.bus.gate import Strangers
from nanobot.plugins.audit.auditor import SecurityAuditor
from nanobot.plugins.audit.brought import Brought
from nanobot.plugins.common.approvals import NO_APPROVALS, ApprovalRecords
from nanobot.seam.offers import Contributions
from nanobot.tools.registry import ToolRegistry


def objects(
    live: LiveSettings,
    tools: ToolRegistry,
    contributions: Contributions,
    approvals: ApprovalRecords = NO_APPROVALS,
    strangers: Strangers | None = None,
) -> dict[Any, object]:
    """The auditor, by its type."""
    brought = Brought(live, contributions, strangers)
    return {SecurityAuditor: SecurityAuditor(live, tools, approvals, brought)}
