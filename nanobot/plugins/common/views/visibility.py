"""Which conversations a person may see. Every operation that reads several conversations uses this
module."""

from __future__ import annotations

from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext
from nanobot.plugins.common.views.sessions import lists_of


async def visible_sessions(context: OperationContext, caller: Caller) -> tuple[str, ...] | None:
    """None: all of them. In a group even an owner sees only the group's own, because everybody
    there reads the answer."""
    if caller.role is Role.OWNER and caller.private:
        return None
    further = await lists_of(context).keys(caller.own) if caller.own else ()
    return (caller.session_key, *further)
