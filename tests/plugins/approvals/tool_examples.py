"""What tests know of the tool that asks; see `tests/tools/examples.py`."""

from __future__ import annotations

from tests.tools.examples import ToolExample

TOOLS = {"ask_user": ToolExample(brings="nothing", inside="writes to the person it works for")}
