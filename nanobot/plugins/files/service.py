"""Builds what people see of the workspace of a gateway."""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.shown_files import ShownFiles
from nanobot.plugins.files.shared_files import SharedFiles
from nanobot.tools.registry import ToolRegistry


def objects(files: ConfinedFiles, tools: ToolRegistry) -> dict[Any, object]:
    """The files, for the operations, and for the HTTP API, which sends them."""
    shared = SharedFiles(files, tools)
    return {SharedFiles: shared, ShownFiles: shared}
