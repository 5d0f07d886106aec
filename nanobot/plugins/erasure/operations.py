"""Operations that remove stored data permanently."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.plugins.common.erasing import Eraser
from nanobot.plugins.common.views.sessions import session_of


class DeletedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A deleted session, and the number of its entries."""

    key: str
    entries: int


@operation(
    "sessions delete",
    role=Role.MEMBER,
    confirm="This removes the conversation with its whole log. Continue?",
    example="telegram:1001",
)
async def delete_session(
    context: OperationContext,
    caller: Caller,
    session: Annotated[Positional, Meta(description="The session.")],
) -> DeletedSession:
    """Delete a conversation permanently.

    Its log, runs, messages and files are removed, and the sessions of background runs that it
    started. Jobs, memories, files of the workspace and earlier backups stay. Fragments can remain
    in unused bytes of a SQLite file until `nanobot db vacuum`.
    """
    await session_of(context, caller, session)
    count = await context.of(Eraser).delete(session)  # type: ignore[type-abstract]
    return DeletedSession(key=session, entries=count)


def operations() -> list[Operation]:
    """The operations of erasure."""
    return [delete_session]
