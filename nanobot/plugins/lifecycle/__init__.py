"""Lifecycle: runs that the workspace requests when the gateway starts and stops."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.lifecycle.settings import LifecycleSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="lifecycle",
    summary="Runs at the start and the stop of the gateway, from BOOT.md and SHUTDOWN.md.",
    texts=Path(__file__).parent,
    settings=LifecycleSettings,
    objects="nanobot.plugins.lifecycle.service:objects",
    around_runs="nanobot.plugins.lifecycle.service:around_runs",
    before_channels="nanobot.plugins.lifecycle.service:before_channels",
    draining="nanobot.plugins.lifecycle.service:draining",
)
