"""Operations on how the home is, and on starting again."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.home import Finding
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.rendering import Now
from nanobot.text import Sentence


def _findings_text(findings: list[Finding], _: Now) -> str:
    return "\n".join(f"- {one.level}: {one.about}: {one.sentences}" for one in findings)


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
    fix: Annotated[bool, Meta(description="Fix what can be fixed automatically.")] = False,
) -> list[Finding]:
    """Check the installation and explain how to fix problems."""
    caller.at_this_machine("The doctor")
    return await context.engine.home.examine(fix=fix)


@operation("restart", confirm="Running answers get time to finish. Restart now?")
async def restart(context: OperationContext, caller: Caller) -> Sentence:
    """Let running answers finish, then restart the gateway with the current configuration.

    If the configuration is wrong, it names the mistake and does not restart.
    """
    caller.at_this_machine("Starting again")
    context.engine.home.restart()
    return "The gateway is restarting. Unfinished answers resume afterwards."
