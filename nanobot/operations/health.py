"""Operations on how the home is, and on starting again."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.home import Finding
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.rendering import Now


def _findings_text(findings: list[Finding], _: Now) -> str:
    lines = []
    for finding in findings:
        text = f"{finding.text}. {finding.remedy}" if finding.remedy else finding.text
        lines.append(f"- {finding.level}: {finding.about}: {text}")
    return "\n".join(lines)


@operation(
    "doctor",
    text=_findings_text,
    own_command=True,
    failed=lambda findings: any(finding.level == "broken" for finding in findings),
)
async def examine(
    context: OperationContext,
    caller: Caller,
    *,
    fix: Annotated[bool, Meta(description="Mend what can be mended.")] = False,
) -> list[Finding]:
    """Check everything that has to work, and say what to do."""
    caller.at_this_machine("What a doctor finds")
    return await context.engine.home.examine(fix=fix)


@operation("restart", confirm="What runs gets its time to end. Start again now?")
async def restart(context: OperationContext, caller: Caller) -> str:
    """Let what runs end, and start the gateway again with the configuration as it is now."""
    caller.at_this_machine("Starting again")
    context.engine.home.restart()
    return "It is starting again. What was running goes on afterwards."
