"""Configuration: commands that show and change it."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="configuration",
    summary="Show and change the configuration, also while the gateway runs.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.configuration.applying:objects",
    always_objects="nanobot.plugins.configuration.applying:always_objects",
    operations="nanobot.plugins.configuration.operations:operations",
    commands="nanobot.plugins.configuration.commands:commands",
    groups={
        "config": "The configuration: read, change and check it.",
        "models": "The models that are configured, and whether they answer.",
    },
    provides={
        "write_settings": "nanobot.plugins.configuration.changes:write",
        "typed_setting": "nanobot.plugins.configuration.typed:typed_value",
    },
)
