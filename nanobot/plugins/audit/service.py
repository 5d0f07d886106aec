"""Builds the auditor of a gateway."""

from __future__ import annotations

from typing import Any

from nanobot.app.live_settings import LiveSettings
from nanobot.app.plugin_exposure import Brought
from nanobot.plugins.audit.auditor import SecurityAuditor
from nanobot.session.views import Records
from nanobot.tools.registry import ToolRegistry


def objects(
    live: LiveSettings, tools: ToolRegistry, records: Records, brought: Brought
) -> dict[Any, object]:
    """The auditor, by its type."""
    return {SecurityAuditor: SecurityAuditor(live, tools, records, brought)}
