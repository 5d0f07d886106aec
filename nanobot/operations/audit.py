"""The operation that verifies the chains of the logs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.rendering import Now
from nanobot.session.views import AuditView
from nanobot.text import Sentence


def _audit_text(logs: list[AuditView], _: Now) -> Sentence:
    lines = [f"{log.session_key}: {log.entries} entries\n  {log.head}" for log in logs]
    return "\n".join([*lines, f"{len(logs)} log(s); every hash chain is intact."])


@operation("audit verify", reads=True, text=_audit_text, slow=True)
async def verify_logs(
    context: OperationContext,
    _: Caller,
    session: Annotated[str, Meta(description="Filter by session.")] = "",
    head: Annotated[
        str, Meta(description="A hash noted earlier: one of the logs must contain it.")
    ] = "",
) -> list[AuditView]:
    """Verify that no log was changed or cut.

    A head that you note down proves later that nothing before it was changed or removed. Exits with
    4 if a log was changed.
    """
    return await context.engine.records.audit(session, head)
