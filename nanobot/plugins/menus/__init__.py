"""Menus: platforms list the commands that a person may use."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="menus",
    summary="The menus of commands on chat platforms.",
    texts=Path(__file__).parent,
    companions="nanobot.plugins.menus.menus:companions",
)
