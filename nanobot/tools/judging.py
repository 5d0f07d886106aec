"""The verdict on a call: the policy's verdict, given what the conversation shows about the call."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.labels import Privacy
from nanobot.session.labelling import label_of
from nanobot.tools.base import AnyTool, CallContext
from nanobot.tools.policy import Policy, PolicyInput
from nanobot.tools.verdict import PolicyDecision, Verdict
from nanobot.workspace.secret_files import secret_file_in


def decided(
    policy: Policy, call: PolicyInput, context: CallContext, *, goes_out: bool
) -> PolicyDecision:
    """The verdict. `goes_out`: the call may reach an internet host. A call that a person typed in
    this very message is judged by that person's role, even if others speak in the conversation.
    """
    if not context.entries:
        return policy.judge(call)
    if goes_out:
        from nanobot.tools.evidence import carried  # noqa: PLC0415 - only for calls that go out

        if (found := carried(call.arguments, context.entries)) is not None:
            call = msgspec.structs.replace(call, carries=found.source, to=found.host)
    decision = policy.judge(call)
    if decision.verdict is not Verdict.ASK:
        return decision
    if not decision.configured and _is_typed(call, context):
        typed = msgspec.structs.replace(call, typed=True, role=context.role)
        again = policy.judge(typed)
        if again.verdict is Verdict.ALLOW:
            return msgspec.structs.replace(again, typed=True)
    if call.tainted:
        from nanobot.tools.evidence import asked_by  # noqa: PLC0415 - only for questions

        because = asked_by(call.arguments, context.entries)
        return policy.judge(msgspec.structs.replace(call, asked_by=because))
    return decision


def with_secret(call: PolicyInput, tool: AnyTool, args: Any, context: CallContext) -> PolicyInput:
    """The call with the source of a secret that it could carry outside. A secret is in the context,
    or in a file that the call names. What is said about a tainted context applies: the call may be
    made for the sake of what it sends."""
    source = secret_file_in(call.arguments)
    if not source and context.label.privacy is not Privacy.SECRET:
        return call
    wary = msgspec.structs.replace(context, tainted=True)
    outside = (
        call.elsewhere
        or (call.foreign and call.risky)
        or (tool.sends is not None and tool.sends(args, wary))
    )
    if not outside:
        return call
    return msgspec.structs.replace(call, secret=source or _source(context))


def _source(context: CallContext) -> str:
    """The name of the latest secret piece."""
    from nanobot.tools.evidence import name_of  # noqa: PLC0415 - only for questions

    for entry in reversed(context.entries):
        if label_of(entry.body).privacy is Privacy.SECRET:
            return name_of(entry, context.entries)
    return "what this conversation has read"


def _is_typed(call: PolicyInput, context: CallContext) -> bool:
    from nanobot.tools.typed import is_typed  # noqa: PLC0415 - only for questions

    return is_typed(call.tool, call.arguments, context.run_id, context.role, context.entries)
