"""Operations on servers of the Model Context Protocol and their tools."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.home import ChangedSettings
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.keys.home_settings import HomeSettings
from nanobot.plugins.common.views.shown_calls import fenced
from nanobot.plugins.mcp.pins import ServerReview
from nanobot.plugins.mcp.views import Servers, ServerView, unknown_server
from nanobot.text import Sentence


@operation(
    "mcp list", reads=True, empty="`nanobot mcp add` connects a server.", shows=("mcp_tools",)
)
async def list_servers(context: OperationContext, _: Caller) -> list[ServerView]:
    """List the MCP servers and their state."""
    return context.of(Servers).views()


_Name = Annotated[Positional, Meta(description="Its name in the configuration.")]


async def _switched(
    context: OperationContext, caller: Caller, name: str, *, enabled: bool
) -> ChangedSettings:
    caller.at_this_machine("Switching servers")
    if name not in {view.name for view in context.of(Servers).views()}:
        raise unknown_server(name)
    return await context.of(HomeSettings).change({f"mcp.{name}.enabled": enabled})


def _text(changed: ChangedSettings, _: Now) -> Sentence:
    return f"Saved in {changed.file}. Restart the gateway to apply it (`restart`)."


@operation("mcp enable", text=_text, example="github")
async def enable_server(context: OperationContext, caller: Caller, name: _Name) -> ChangedSettings:
    """Enable an MCP server (after a restart)."""
    return await _switched(context, caller, name, enabled=True)


@operation("mcp disable", text=_text, example="github")
async def disable_server(context: OperationContext, caller: Caller, name: _Name) -> ChangedSettings:
    """Disable an MCP server (after a restart)."""
    return await _switched(context, caller, name, enabled=False)


def _reviewed(review: ServerReview, _: Now) -> Sentence:
    if not review.tools and review.accepted == 1:
        return f"The tool of {review.server} is accepted."
    if not review.tools:
        return f"All {review.accepted} tools of {review.server} are accepted."
    parts = [
        f"{tool.tool} ({tool.state})\n{fenced(chr(10).join(tool.diff))}" for tool in review.tools
    ]
    if review.more:
        parts.append(f"Once these are accepted, {review.more} more follow.")
    parts.append(
        "The server wrote these texts. To let the model read them in every conversation, accept "
        f"them: `mcp accept {review.server} {review.code}`"
    )
    return "\n\n".join(parts)


@operation("mcp review", reads=True, text=_reviewed, example="github")
async def review_server(context: OperationContext, _: Caller, name: _Name) -> ServerReview:
    """Show which tools of an MCP server are new or changed, with the differences.

    It shows the differences, and a code that accepts exactly these tools.
    """
    return await context.of(Servers).review(name)


@operation("mcp accept", example="github 3f9a1c07b2de")
async def accept_server(
    context: OperationContext,
    caller: Caller,
    name: _Name,
    code: Annotated[Positional, Meta(description="The code shown below the review.")] = "",
) -> Sentence:
    """Accept the new and changed tools of an MCP server, as `mcp review` shows them.

    If the server has changed them since, nothing is accepted.
    """
    count = await context.of(Servers).accept(name, code, caller.by)
    tools = "1 tool" if count == 1 else f"{count} tools"
    return f"Accepted {tools} of {name}. New conversations list them."


def operations() -> list[Operation]:
    """All operations."""
    return [list_servers, enable_server, disable_server, review_server, accept_server]
