"""What is the owners' alone: within reach of the tools in their private conversations, else not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nanobot.tools.base import AnyTool, CallContext, ToolOutput
from nanobot.workspace.confinement import ConfinedFiles


def kept_apart(
    tools_over: Callable[[ConfinedFiles], list[AnyTool]],
    roots: ConfinedFiles,
    apart: Sequence[Path],
) -> list[AnyTool]:
    """The tools that `made` gives over roots; to whoever is not an owner alone, what is `apart` is
    not there."""
    both = zip(tools_over(roots), tools_over(roots.excluding(apart)), strict=True)
    return [_either(alone, shared) for alone, shared in both]


def _either(alone: AnyTool, shared: AnyTool) -> AnyTool:
    async def run(args: Any, context: CallContext) -> str | ToolOutput:
        return await (alone if context.alone else shared).run(args, context)

    return msgspec.structs.replace(alone, run=run)
