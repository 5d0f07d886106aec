"""Operations on what the model is shown."""

from __future__ import annotations

import msgspec

from nanobot.agent.context_view import ContextView, context_text, counts_only
from nanobot.operations.operation import (
    Arguments,
    Caller,
    HereFirst,
    Nothing,
    Operation,
    OperationContext,
)


class _Show(Arguments, frozen=True, kw_only=True):
    session: HereFirst = ""


class Reloaded(msgspec.Struct, frozen=True, kw_only=True):
    """How many conversations get their prompt made anew at their next model call."""

    sessions: int


async def _show(operations: OperationContext, caller: Caller, asked: _Show) -> ContextView:
    found = await operations.engine.glimpse.at(asked.session)
    return found if caller.address is None else counts_only(found)


async def _reload(operations: OperationContext, _: Caller, __: Nothing) -> Reloaded:
    return Reloaded(sessions=await operations.engine.records.forget_prompts())


CONTEXT: tuple[Operation, ...] = (
    Operation(
        name="context show",
        help="shows what the model would be sent now, and how many tokens that takes",
        run=_show,
        arguments=_Show,
        returns=ContextView,
        text=context_text,
    ),
    Operation(
        name="reload",
        help="reads the workspace's files and skills again, for every conversation",
        run=_reload,
        returns=Reloaded,
        text=lambda done, _: f"Read again with the next message in {done.sessions} conversations.",
    ),
)
