"""The verdict on a call: the policy's verdict, given what the conversation shows about the call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from nanobot.boundary import boundary
from nanobot.errors import StoreError, ToolError
from nanobot.labels import Privacy
from nanobot.plugins.common.policy.evidence import asked_by, carried, name_of
from nanobot.plugins.common.policy.rules import PolicyInput
from nanobot.plugins.common.policy.secret_files import secret_file_in
from nanobot.seam.given import of_kind
from nanobot.session.labelling import label_of
from nanobot.tools.base import AnyTool, CallContext, Effect, RawArgs
from nanobot.tools.judge import LEFT_TO_EXECUTE
from nanobot.tools.verdict import PolicyDecision, Verdict


async def looked_at(
    tool: AnyTool, args: Any, context: CallContext, *, foreign: bool
) -> PolicyInput | PolicyDecision:
    """A call as the policy judges it; a decision if the tool refuses it, or cannot say what it
    would do. Raises StoreError."""
    with boundary(f"what the tool {tool.name} says of a call") as caught:
        try:
            elsewhere = tool.elsewhere is not None and bool(tool.elsewhere(args, context))
        except ToolError:
            return LEFT_TO_EXECUTE
        async with asyncio.timeout(tool.timeout):
            call = await _said_of(tool, args, context, elsewhere=elsewhere)
        call = msgspec.structs.replace(call, foreign=foreign)
        return with_secret(call, tool, args, context)
    if isinstance(caught.error, StoreError):
        raise caught.error
    why = f"{tool.name} cannot say what it would do: {type(caught.error).__name__}"
    return PolicyDecision(verdict=Verdict.DENY, rule="the tool itself", why=why)


async def _said_of(
    tool: AnyTool, args: Any, context: CallContext, *, elsewhere: bool
) -> PolicyInput:
    unusual = "" if tool.needs_approval is None else await tool.needs_approval(args, context)
    return PolicyInput(
        tool=tool.name,
        arguments=args.values if isinstance(args, RawArgs) else msgspec.to_builtins(args),
        role=context.rights,
        joined_by_members=context.rights is not context.role,
        channel=context.address.channel,
        chat=context.address.chat_id,
        tainted=context.tainted,
        elsewhere=elsewhere,
        contained=tool.uncontained is None or await tool.uncontained() is None,
        reached="" if tool.reached is None else of_kind(tool.reached(args), str),
        sends=tool.sends is not None and bool(tool.sends(args, context)),
        host="" if tool.host is None else of_kind(tool.host(args), str),
        danger="" if tool.danger is None else of_kind(tool.danger(args), str),
        unusual=of_kind(unusual, str),
        risky=(tool.risk or ("high" if tool.effect is Effect.WORLD else "low")) == "high",
        unaccepted=tool.unaccepted,
    )


def decided(
    judge: Callable[[PolicyInput], PolicyDecision],
    tool: AnyTool,
    call: PolicyInput,
    context: CallContext,
    *,
    goes_out: bool,
) -> PolicyDecision:
    """The verdict of `judge`. `goes_out`: the call may reach an internet host. A call that a person
    typed in this very message is judged by that person's role, even if others speak in the
    conversation.
    """
    if not context.entries:
        return judge(call)
    if goes_out and (found := carried(call.arguments, context.entries)) is not None:
        call = msgspec.structs.replace(call, carries=found.source, to=found.host)
    decision = judge(call)
    if decision.verdict is not Verdict.ASK:
        return decision
    if not decision.configured and _is_typed(tool, call, context):
        typed = msgspec.structs.replace(call, typed=True, role=context.role)
        again = judge(typed)
        if again.verdict is Verdict.ALLOW:
            return msgspec.structs.replace(again, typed=True)
    if call.tainted:
        because = asked_by(call.arguments, context.entries)
        return judge(msgspec.structs.replace(call, asked_by=because))
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
    for entry in reversed(context.entries):
        if label_of(entry.body).privacy is Privacy.SECRET:
            return name_of(entry, context.entries)
    return "what this conversation has read"


def _is_typed(tool: AnyTool, call: PolicyInput, context: CallContext) -> bool:
    """Whether a person typed the call. Of tools of others nobody believes that."""
    if tool.typed is None or call.foreign:
        return False
    with boundary(f"what the tool {tool.name} says of a typed call"):
        return of_kind(tool.typed(call.arguments, context), bool)
    return False
