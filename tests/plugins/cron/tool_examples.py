"""What tests know of the tool for jobs; see `tests/tools/examples.py`."""

from tests.tools.examples import TEXT, ToolExample

TOOLS = {
    "cron": ToolExample(
        good={"action": "list"},
        brings="nothing",
        leaving={"action": "add", "schedule": "@daily", "message": TEXT},
    ),
}
