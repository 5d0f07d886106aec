"""Erasure: removes conversations and entries permanently, and moves old entries into archives."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.erasure.settings import RetentionSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="erasure",
    summary="Deleting conversations permanently, and archiving old entries.",
    texts=Path(__file__).parent,
    settings=RetentionSettings,
    table="retention",
    tables=("nanobot.plugins.erasure.tables", "nanobot.plugins.common.store.erasures"),
    objects="nanobot.plugins.erasure.service:objects",
    operations="nanobot.plugins.erasure.operations:operations",
    around_runs="nanobot.plugins.erasure.service:around_runs",
    every_process="nanobot.plugins.erasure.service:every_process",
    one_process="nanobot.plugins.erasure.service:one_process",
    provides={"unerased": "nanobot.plugins.erasure.store.unerased:unerased"},
)
