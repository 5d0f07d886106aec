"""The operation that shows what attackers could reach."""

from __future__ import annotations

from itertools import groupby

from nanobot.operations.exposures import Exposure
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.rendering import Now
from nanobot.text import Sentence


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
    # Imported late: every command imports this module, and few need the policy.
    from nanobot.plugins.audit.auditor import SecurityAuditor  # noqa: PLC0415

    return await context.of(SecurityAuditor).audit()


def operations() -> list[Operation]:
    """The operation of the plugin."""
    return [audit]
