"""The verdict on a call: the policy's verdict, given what the conversation shows about the call."""

from __future__ import annotations

import msgspec

from nanobot.tools.base import CallContext
from nanobot.tools.policy import Policy, PolicyDecision, PolicyInput, Verdict


def decided(
    policy: Policy, call: PolicyInput, context: CallContext, *, goes_out: bool
) -> PolicyDecision:
    """The verdict. `goes_out`: the call may reach an internet host. A call that a person typed in
    this very message is judged by that person's role, whoever else speaks in the conversation.
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


def _is_typed(call: PolicyInput, context: CallContext) -> bool:
    from nanobot.tools.typed import is_typed  # noqa: PLC0415 - only for questions

    return is_typed(call.tool, call.arguments, context.run_id, context.role, context.entries)
