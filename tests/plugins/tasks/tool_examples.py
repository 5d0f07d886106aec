"""What tests know of the tool for subagents; see `tests/tools/examples.py`."""

from tests.tools.examples import ToolExample

TOOLS = {"spawn": ToolExample(good={"task": "count"}, brings="nothing")}
