"""Tools of other packages, found by the entry point group `nanobot.tools`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import NanobotError
from nanobot.tools.base import AnyTool, Tool
from nanobot.tools.registry import ToolRegistry

GROUP = "nanobot.tools"


def register_installed(
    registry: ToolRegistry, points: Iterable[EntryPoint] | None = None
) -> list[str]:
    """Offer what is installed: each entry point is a Tool, a list of them, or a function without
    arguments that returns either. One that is broken, or whose name is taken, is named in the log
    and left out; it never fails a start. Returns the names of those left out."""
    left_out = []
    found = entry_points(group=GROUP) if points is None else points
    for point in sorted(found, key=lambda one: one.name):
        why = ""
        with boundary(f"tool {point.name} of another package") as caught:
            try:
                for tool in _tools(point.load()):
                    registry.register(tool)
            except NanobotError as error:
                why = str(error)
        if why or caught.error is not None:
            logger.error(
                "tool {} ({}) is left out: {}", point.name, point.value, why or "see above"
            )
            left_out.append(point.name)
    return left_out


def _tools(loaded: Any) -> list[AnyTool]:
    made = loaded() if callable(loaded) else loaded
    tools = [made] if isinstance(made, Tool) else list(made)
    for tool in tools:
        if not isinstance(tool, Tool):
            raise NanobotError(f"it gives a {type(tool).__name__}, not a nanobot.tools.base.Tool")
    return tools
