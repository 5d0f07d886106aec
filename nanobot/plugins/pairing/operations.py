"""Operations on who is let in."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Limit, Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.plugins.pairing.pairing import Pairing, PairingView
from nanobot.text import Sentence


@operation(
    "pair list",
    reads=True,
    example="state=asked",
    empty="People who write to the assistant for the first time appear here.",
    shows=("pairings",),
)
async def list_pairings(
    context: OperationContext,
    _: Caller,
    state: Annotated[
        Literal["", "asked", "expired", "approved", "revoked"],
        Meta(description="Filter by state."),
    ] = "",
    limit: Limit = 50,
) -> list[PairingView]:
    """List access requests and the people who have access."""
    return await context.of(Pairing).listed(state=state, limit=limit)


def _text(pairing: PairingView, _: Now) -> Sentence:
    person = f"{pairing.name} ({pairing.who})" if pairing.name else pairing.who
    if pairing.state == "approved":
        notice = " and gets a message" if pairing.code else ""
        return f"{person} now has access as {pairing.role}{notice}."
    return f"{person} no longer has access."


@operation("pair approve", text=_text, example="K7PM-3XQA role=owner")
async def approve_pairing(
    context: OperationContext,
    caller: Caller,
    code: Annotated[
        Positional, Meta(description="The code that the person received, or CHANNEL:ID.")
    ],
    role: Annotated[
        Literal["owner", "member", "guest"],
        Meta(description="The role: owners may do everything, guests have no tools."),
    ] = "member",
) -> PairingView:
    """Give a person access, by their code or id.

    The person is told.
    """
    engine, pairings = context.engine, context.of(Pairing)
    channel, colon, sender_id = code.strip().partition(":")
    if colon and sender_id:
        if channel not in context.of(GatewayFacts).now().channels:
            raise UsageError(f"{channel[:40]!r} is not a connected channel: write CHANNEL:ID.")
        return await pairings.let_in(channel, sender_id, Role(role), caller.by)
    pairing, chat = await pairings.approve(code, Role(role), caller.by)
    engine.bus.owed(chat)
    return pairing


@operation("pair revoke", text=_text, example="telegram:1002")
async def revoke_pairing(
    context: OperationContext,
    caller: Caller,
    who: Annotated[Positional, Meta(description="Their id, or CHANNEL:ID.")],
) -> PairingView:
    """Revoke a person's access.

    It works from their next message on.
    """
    return await context.of(Pairing).revoke(who, caller.by)


def operations() -> list[Operation]:
    """What people can do with it."""
    return [list_pairings, approve_pairing, revoke_pairing]
