"""Set-up: what installs, configures, examines and removes a nanobot."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="setup",
    summary="Set up, examine, upgrade and remove nanobot, and run it as a service.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.setup.operations:operations",
    commands="nanobot.plugins.setup.commands:commands",
    groups={
        "channels": "The chats it lives in.",
        "service": "Run the gateway permanently, as a service.",
    },
    provides={
        "examination": "nanobot.plugins.setup.doctor.checks:findings",
        "service_log": "nanobot.plugins.setup.service.logs:journal_command",
    },
)
