"""Calls of the tool that sends messages."""

from __future__ import annotations

from tests.tools.examples import TEXT, ToolExample

TOOLS: dict[str, ToolExample] = {
    "message": ToolExample(
        good={"content": "hello"},
        failing={"content": "hello", "channel": "nowhere", "chat_id": "1"},
        brings="nothing",
        leaving={"content": TEXT, "channel": "telegram", "chat_id": "101"},
    ),
}
