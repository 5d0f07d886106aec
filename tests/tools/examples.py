"""What tests know of each tool of ours: calls to try, what it brings, and where it reaches. They
are in `TOOLS` of `tests/plugins/NAME/tool_examples.py`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


class ToolExample(msgspec.Struct, frozen=True, kw_only=True):
    """`good`: arguments of a call that works; None: it needs more than a bare workspace. `failing`:
    of one that fails. `brings`: whether its results come from outside (the default), never do, or
    do by the call. `inside`: what it does, if nothing leaves by it; any other tool has to ask in a
    conversation that has seen content from outside. `leaving`: arguments by which something leaves,
    with TEXT in the place of it, if not any arguments are such."""

    good: Mapping[str, Any] | None = None
    failing: Mapping[str, Any] | None = None
    brings: Literal["outside", "nothing", "by the call"] = "outside"
    inside: str = ""
    leaving: Mapping[str, Any] | None = None


TEXT = "{text}"
"""Stands for what leaves, in `leaving`."""


def examples() -> dict[str, ToolExample]:
    """Those of all tools, by name."""
    known: dict[str, ToolExample] = {}
    for file in sorted(PLUGINS.glob("*/tool_examples.py")):
        of_plugin: dict[str, ToolExample] = import_module(
            f"tests.plugins.{file.parent.name}.tool_examples"
        ).TOOLS
        assert not known.keys() & of_plugin.keys(), file
        known |= of_plugin
    return known
