"""Which conversations somebody may see: asked here by every operation that looks at several."""

from __future__ import annotations

from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext


async def visible_sessions(context: OperationContext, caller: Caller) -> tuple[str, ...] | None:
    """None: all of them. In a group even an owner sees only the group's own, because everybody
    there reads the answer."""
    if caller.role is Role.OWNER and caller.private:
        return None
    further = await context.engine.conversations.keys(caller.own) if caller.own else ()
    return (caller.session_key, *further)
