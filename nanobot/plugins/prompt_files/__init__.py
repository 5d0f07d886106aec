"""Prompt files: the files that the prompt is made of, as an owner reads and writes them."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="prompt_files",
    summary="Show, write and reload the files of the prompt, such as AGENTS.md and USER.md.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.prompt_files.service:objects",
    operations="nanobot.plugins.prompt_files.operations:operations",
    groups={"prompts": "The files that the prompt is made of."},
)
