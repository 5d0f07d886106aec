"""Webhooks: other services report events over HTTP."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.hooks.settings import HookSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="hooks",
    summary="Webhooks from other services.",
    requires=("http", "jobs"),
    texts=Path(__file__).parent,
    settings=HookSettings,
    named=True,
    fits="nanobot.plugins.hooks.checks:fits",
    groups={"hooks": "Webhooks from other services."},
    operations="nanobot.plugins.hooks.operations:operations",
    paths=("/hooks/",),
    deliveries="nanobot.plugins.hooks.service:deliveries",
    exposures="nanobot.plugins.hooks.exposures:exposures",
    checks="nanobot.plugins.hooks.findings:checks",
)
