"""Operations on what the model is shown."""

from __future__ import annotations

import msgspec

from nanobot.operations.context_view import ContextView, context_text, counts_only
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import PositionalSession
from nanobot.operations.rendering import Now
from nanobot.text import Sentence


class Reloaded(msgspec.Struct, frozen=True, kw_only=True):
    """The number of conversations whose prompt is renewed at their next model call."""

    sessions: int


@operation("context show", reads=True, text=context_text, example="telegram:1001")
async def show_context(
    context: OperationContext, caller: Caller, session: PositionalSession = ""
) -> ContextView:
    """Show what the model would receive now, and how many tokens it takes.

    It shows the system prompt, the tools, the messages, and the estimated tokens of each part; in a
    chat only the estimates.
    """
    view = await context.engine.context_preview.at(session)
    return view if caller.address is None else counts_only(view)


def _reloaded(result: Reloaded, _: Now) -> Sentence:
    return f"Reloaded; {result.sessions} open conversations use it from their next message on."


@operation("reload", text=_reloaded)
async def reload(context: OperationContext, _: Caller) -> Reloaded:
    """Reload the workspace's files and skills in every conversation.

    Current answers keep their prompt.
    """
    return Reloaded(sessions=await context.engine.records.forget_prompts())
