"""Operations on who is let in."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.bus.pairing import PairingView
from nanobot.messages import Role
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    Limit,
    Operation,
    OperationContext,
)


class _List(Arguments, frozen=True, kw_only=True):
    state: Annotated[
        Literal["", "asked", "expired", "approved", "revoked"],
        Meta(description="Only in this state: asked, expired, approved, revoked."),
    ] = ""
    limit: Limit = 50


class _Approve(Arguments, frozen=True, kw_only=True):
    code: Annotated[First, Meta(description="The code they were given.")]
    role: Annotated[
        Literal["member", "owner", "guest"],
        Meta(description="As what: member, owner (who may do everything) or guest (no tools)."),
    ] = "member"


class _Revoke(Arguments, frozen=True, kw_only=True):
    who: Annotated[First, Meta(description="Their id, or CHANNEL:ID.")]


async def _pairings(operations: OperationContext, _: Caller, asked: _List) -> list[PairingView]:
    return await operations.engine.pairing.listed(state=asked.state, limit=asked.limit)


async def _approve(operations: OperationContext, caller: Caller, asked: _Approve) -> PairingView:
    engine = operations.engine
    found, chat = await engine.pairing.approve(asked.code, Role(asked.role), caller.by)
    engine.bus.owed(chat)
    return found


async def _revoke(operations: OperationContext, caller: Caller, asked: _Revoke) -> PairingView:
    return await operations.engine.pairing.revoke(asked.who, caller.by)


def _text(one: PairingView, _: float) -> str:
    called = f"{one.name} ({one.who})" if one.name else one.who
    if one.state == "approved":
        return f"{called} is in as {one.role} and is being told so."
    return f"{called} is not let in any more."


PAIRING: tuple[Operation, ...] = (
    Operation(
        name="pair list",
        help="lists who asks to be let in, and who was",
        run=_pairings,
        arguments=_List,
        returns=list[PairingView],
    ),
    Operation(
        name="pair approve",
        help="lets in whoever was given that code",
        run=_approve,
        arguments=_Approve,
        returns=PairingView,
        text=_text,
    ),
    Operation(
        name="pair revoke",
        help="no longer lets somebody in",
        run=_revoke,
        arguments=_Revoke,
        returns=PairingView,
        text=_text,
    ),
)
