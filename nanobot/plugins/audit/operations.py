"""The operations that show what attackers could reach, and what the policy says of a call."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Arguments, Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.audit.explanation import PolicyExplanation
from nanobot.plugins.common.exposures import Exposure
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


class _Call(Arguments, frozen=True, kw_only=True):
    tool: Annotated[Positional, Meta(description="The tool.")]
    text: Annotated[
        Positional, Meta(description="The arguments as JSON, or the first one as text.")
    ] = ""
    role: Annotated[Literal["owner", "member", "guest"], Meta(description="Whose run.")] = "owner"
    channel: Annotated[str, Meta(description="Where.")] = ""
    chat: Annotated[str, Meta(description="The chat in which the call would be made.")] = ""
    tainted: Annotated[bool, Meta(description="As if the run had seen untrusted content.")] = False
    spoken: Annotated[
        str,
        Meta(
            description="Who spoke into what the run sees, as a list: owner, member, guest, "
            "program, passed-on, tool, outside."
        ),
    ] = ""
    privacy: Annotated[
        str,
        Meta(description="How private what the run sees is: public, conversation, person, secret."),
    ] = ""


@operation("policy explain", reads=True, example="exec rm -r build")
async def explain_policy(context: OperationContext, _: Caller, call: _Call) -> PolicyExplanation:
    """Explain whether a call would be allowed, and by which rule.

    Nothing is called.
    """
    # Imported late, as above.
    from nanobot.plugins.audit.explaining import PolicyQuestion, explain  # noqa: PLC0415

    return await explain(context.engine.tools, PolicyQuestion(**msgspec.structs.asdict(call)))


def operations() -> list[Operation]:
    """The operations of the plugin."""
    return [audit, explain_policy]
