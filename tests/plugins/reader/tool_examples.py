"""What tests know of the tool that reads for the model; see `tests/tools/examples.py`."""

from tests.tools.examples import ToolExample

TOOLS = {"read_document": ToolExample(inside="asks a model without tools")}
