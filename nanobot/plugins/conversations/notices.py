"""Commands with their answers, which no log has."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Limit, PositionalSession
from nanobot.operations.rendering import Now
from nanobot.plugins.common.views.notices import NoticeView, notices_of
from nanobot.plugins.common.views.sessions import check_sight
from nanobot.text import Sentence


def _notices_text(notices: list[NoticeView], _: Now) -> Sentence:
    if not notices:
        return "No other messages."
    return "\n\n".join(f"{each.said}\n{each.text}".strip() for each in reversed(notices))


@operation(
    "sessions notices",
    reads=True,
    role=Role.MEMBER,
    text=_notices_text,
    example="telegram:1001",
    shows=("outbound", "inbound"),
)
async def list_notices(
    context: OperationContext,
    caller: Caller,
    session: PositionalSession = "",
    since: Annotated[float, Meta(ge=0, description="Only after this time (Unix seconds).")] = 0.0,
    limit: Limit = 20,
) -> list[NoticeView]:
    """List the commands of a conversation with their answers.

    They are not part of its log, and the model never sees them. Refusals are listed, too.
    """
    check_sight(caller, session)
    return await notices_of(context, session, since=since, limit=limit)
