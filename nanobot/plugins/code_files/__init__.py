"""Code files: long code of an answer arrives as a file."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="code_files",
    summary="Files with the long code of answers, whose first lines stay in the text.",
    texts=Path(__file__).parent,
    companions="nanobot.plugins.code_files.cutting:companions",
)
