"""Files of the workspace for the model: it reads, writes, edits, lists and searches them."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="file_tools",
    summary="Reading, writing and searching files of the workspace.",
    after=("file_labels",),
    texts=Path(__file__).parent,
    tools="nanobot.plugins.file_tools.service:tools",
    always_objects="nanobot.plugins.file_tools.service:always_objects",
    provides={"file_tools": "nanobot.plugins.file_tools.service:file_tools_at"},
    reserves=("read_file", "write_file", "edit_file", "list_dir", "search_files"),
)
