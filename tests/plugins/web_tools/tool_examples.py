"""What tests know of the tools of the web; see `tests/tools/examples.py`."""

from tests.tools.examples import TEXT, ToolExample

TOOLS = {
    "web_search": ToolExample(),
    "web_fetch": ToolExample(
        failing={"url": "http://127.0.0.1/"}, leaving={"url": f"https://a.example/?{TEXT}"}
    ),
}
