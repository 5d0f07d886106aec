"""What tests know of the tool that opens skills; see `tests/tools/examples.py`."""

from tests.tools.examples import ToolExample

TOOLS = {
    "skill": ToolExample(
        good={"name": "notes"},
        failing={"name": "no such skill"},
        brings="nothing",
        inside="reads a skill",
    ),
}
