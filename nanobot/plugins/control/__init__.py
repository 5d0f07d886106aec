"""The control socket: commands, terminals and other programs of the owner reach a running
nanobot.
"""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="control",
    summary="The control socket, by which commands and terminals reach a running nanobot.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.control.serving:objects",
    listening="nanobot.plugins.control.serving:listening",
    channels="nanobot.plugins.control.serving:channels",
    provides={"remote_operations": "nanobot.plugins.control.remote:performed"},
)
