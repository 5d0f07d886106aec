"""What tests know of the tools of MCP servers; see `tests/tools/examples.py`."""

from tests.tools.examples import TEXT, ToolExample

TOOLS = {
    "mcp_read": ToolExample(
        failing={"server": "nobody"}, leaving={"server": "it", "uri": f"it://{TEXT}"}
    ),
    "find_tools": ToolExample(good={"query": "anything"}, inside="reads descriptions of tools"),
    "call_tool": ToolExample(
        failing={"name": "nothing"}, brings="nothing", inside="is judged as the tool that it calls"
    ),
}
