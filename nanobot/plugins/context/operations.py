"""The operation that shows what a model would be sent."""

from __future__ import annotations

from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import PositionalSession
from nanobot.plugins.context.shown import ContextView, context_text, counts_only
from nanobot.plugins.context.tools import list_tools


@operation("context show", reads=True, text=context_text, example="telegram:1001")
async def show_context(
    context: OperationContext, caller: Caller, session: PositionalSession = ""
) -> ContextView:
    """Show what the model would receive now, and how many tokens it takes.

    It shows the system prompt, the tools, the messages, and the estimated tokens of each part; in a
    chat only the estimates.
    """
    # Imported late: every command imports this module, and few need the agent.
    from nanobot.plugins.context.preview import preview_of  # noqa: PLC0415

    view = await preview_of(context).at(session)
    return view if caller.address is None else counts_only(view)


def operations() -> list[Operation]:
    """The operations of the plugin, in the order of the help."""
    return [show_context, list_tools]
