"""The operation that lists past tool calls."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Limit
from nanobot.plugins.runs.views import ToolCallView


@operation("tools history", reads=True, example="tool=exec limit=50", shows=("entries",))
async def list_tool_calls(
    context: OperationContext,
    _: Caller,
    session: Annotated[str, Meta(description="Filter by session.")] = "",
    tool: Annotated[str, Meta(description="Filter by tool.")] = "",
    limit: Limit = 20,
) -> list[ToolCallView]:
    """List past tool calls."""
    from nanobot.plugins.runs.store import ToolCalls  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    calls = ToolCalls(store.database, store.writer)
    return await calls.listed(session=session, name=tool, limit=limit)
