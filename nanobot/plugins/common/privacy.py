"""Owners' private files: accessible to the tools only in the owners' private conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nanobot.agent.prompt import PRIVATE_FILES
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.session.scopes import FOLDER
from nanobot.tools.base import AnyTool, CallContext, ToolOutput


def kept_apart(
    tools_over: Callable[[ConfinedFiles], list[AnyTool]],
    roots: ConfinedFiles,
    apart: Sequence[Path],
) -> list[AnyTool]:
    """The tools that `made` returns for the roots; the files in `apart` exist only for an owner
    without other readers.
    """
    both = zip(tools_over(roots), tools_over(roots.excluding(apart)), strict=True)
    return [_either(alone, shared) for alone, shared in both]


def _either(alone: AnyTool, shared: AnyTool) -> AnyTool:
    async def run(args: Any, context: CallContext) -> str | ToolOutput:
        return await (alone if context.alone else shared).run(args, context)

    return msgspec.structs.replace(alone, run=run)


def private_paths(workspace: Path) -> tuple[Path, ...]:
    """Paths of a workspace that are for its owners only, or for one person or group each: memory,
    and files that only owners' prompts contain."""
    return (*(workspace / name for name in PRIVATE_FILES), workspace / FOLDER)
