"""Set-up: what installs, configures, examines and removes a nanobot."""

from __future__ import annotations

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="setup",
    summary="Set up nanobot, run it as a service, upgrade and remove it.",
    commands="nanobot.plugins.setup.commands:commands",
    groups={"service": "Run the gateway permanently, as a service."},
    provides={"service_log": "nanobot.plugins.setup.service.logs:journal_command"},
)
