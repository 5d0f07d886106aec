"""The operations of the plugin."""

from __future__ import annotations

from nanobot.operations.operation import Operation
from nanobot.plugins.runs.calls import list_tool_calls
from nanobot.plugins.runs.outbox import drop_message, list_outbox, retry_message
from nanobot.plugins.runs.runs import cancel_run, list_runs, show_run


def operations() -> list[Operation]:
    """Runs first, then outgoing messages and tool calls."""
    return [
        *(list_runs, show_run, cancel_run),
        *(list_outbox, retry_message, drop_message),
        list_tool_calls,
    ]
