"""Operations on the security audit, and on files with content from outside."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import UnknownId
from nanobot.operations.exposures import Exposure
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Limit, Positional
from nanobot.operations.rendering import Now
from nanobot.text import Sentence


class TaintedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the workspace that holds content from outside; a folder ends with a slash."""

    path: str


def _text(exposures: list[Exposure], _: Now) -> Sentence:
    lines: list[str] = []
    for attacker, rows in groupby(exposures, lambda exposure: exposure.attacker):
        lines += ["", f"**{attacker[0].upper()}{attacker[1:]}**"]
        for row in rows:
            lines.append(f"- {row.level}: {row.reaches}")
            if row.remedy:
                lines.append(f"  {row.remedy}")
    worst = sum(row.level == "danger" for row in exposures)
    risks = sum(row.level == "risk" for row in exposures)
    lines += ["", f"{worst} dangers, {risks} risks."]
    return "\n".join(lines).strip()


@operation(
    "security audit",
    reads=True,
    text=_text,
    failed=lambda exposures: any(row.level == "danger" for row in exposures),
)
async def audit(context: OperationContext, _: Caller) -> list[Exposure]:
    """Show what each kind of attacker could reach, and how to prevent it.

    Exits with 1 if there is a `danger`: a way to take over, or to take data away.
    """
    return await context.engine.security.audit()


@operation("security files", reads=True, shows=("tainted_files",))
async def list_tainted_files(
    context: OperationContext, _: Caller, limit: Limit = 100
) -> list[TaintedFile]:
    """List the files with untrusted content.

    Reading one taints a conversation.
    """
    paths = await context.engine.security.tainted_files()
    return [TaintedFile(path=path) for path in paths[:limit]]


@operation("security trust", example="notes.md")
async def trust_files(
    context: OperationContext,
    _: Caller,
    path: Annotated[Positional, Meta(description="A file of the workspace, or a folder.")],
) -> Sentence:
    """Mark a file or folder as trusted.

    Its content counts as yours from now on.
    """
    count = await context.engine.security.trust(path)
    if not count:
        raise UnknownId(
            f"{path[:200]} is not marked as untrusted; `security files` lists those that are."
        )
    return f"Removed {count} marks: reading {path[:200]} no longer taints a conversation."
