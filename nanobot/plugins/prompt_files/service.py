"""Builds the prompt files of a gateway."""

from __future__ import annotations

from typing import Any

from nanobot.config.loader import Config
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.prompt_files.files import PromptFiles


def objects(config: Config, files: ConfinedFiles, taint: TaintedFiles) -> dict[Any, object]:
    """The files of the workspace that make up the prompt, by their type."""
    return {PromptFiles: PromptFiles(config.workspace, files, taint)}
