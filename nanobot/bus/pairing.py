"""Pairing: how strangers ask to be let in, and who was, beside the people of the configuration.

A code is no secret that opens anything: only an owner can approve it, so guessing one gains
nothing. It is there so that the owner lets in whoever showed it to them, and nobody else.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from nanobot.messages import Address, OutboundKind, OutboundMessage, Role, Sender
from nanobot.ports import Clock

VALID_SECONDS = 3_600.0
REPEAT_SECONDS = 300.0
"""A stranger who goes on writing is told their code again at most this often."""
MAX_OPEN = 1_000
"""Codes that are valid at once on a channel; of more, the oldest gives way."""
KEPT_SECONDS = 86_400.0
"""How long after it expired a request is still known, so that `pair approve` can say so."""

_CACHE_SECONDS = 5.0
_CACHED = 10_000


class PairingView(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who asked to be let in. `who` is CHANNEL:SENDER. `state` is asked, expired,
    approved or revoked; `role` is what they were let in as."""

    who: str
    name: str
    state: str
    role: Role | None
    code: str
    asked_at: float
    expires_at: float
    decided_at: float | None
    decided_by: str | None


class PairingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A stranger's open request. `told`: chats of owners that are told of it just now."""

    code: str
    asked_at: float
    expires_at: float
    told: tuple[Address, ...] = ()


class PairingStore(Protocol):
    """What the store keeps of pairing; each verb is one transaction."""

    async def role(self, channel: str, sender_id: str) -> Role | None:
        """As what somebody was let in."""
        ...

    async def ask(self, address: Address, sender: Sender) -> PairingRequest | Role:
        """The sender's open request, the one they have or a new one; their role, if they were let
        in meanwhile. Of more than MAX_OPEN of a channel, the oldest is gone."""
        ...

    async def approve(self, code: str, role: Role, by: str) -> tuple[PairingView, Address]:
        """Let in whoever was given that code, and owe them a word in the chat they asked in, which
        is returned. Raises NanobotError for a code that is not known, expired or was used."""
        ...

    async def let_in(self, channel: str, sender_id: str, role: Role, by: str) -> PairingView:
        """Let somebody in who need not have asked; nothing is owed."""
        ...

    async def revoke(self, who: str, by: str) -> PairingView:
        """Nobody is let in by that pairing any more, nor by that code. `who` is a sender's id,
        with `CHANNEL:` before it where several have it. Raises NanobotError."""
        ...

    async def listed(self, *, state: str, limit: int) -> list[PairingView]:
        """Who asked and who was let in ("": in any state), the latest first."""
        ...


class Pairing:
    """The pairings of one process: looked up for every message, remembered for seconds.

    What is changed here holds here at once; what another process changed in a shared store, after
    five seconds.
    """

    def __init__(self, store: PairingStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._roles: dict[tuple[str, str], tuple[Role | None, float]] = {}
        self._changes = 0

    async def role(self, channel: str, sender_id: str) -> Role | None:
        """As what somebody was let in; None for a stranger."""
        cached = self._roles.get((channel, sender_id))
        if cached is not None and self._clock.monotonic() < cached[1]:
            return cached[0]
        changes = self._changes
        role = await self._store.role(channel, sender_id)
        # What was read while somebody was let in or shut out may be older than that.
        if changes == self._changes:
            if len(self._roles) >= _CACHED:
                self._roles.clear()
            until = self._clock.monotonic() + _CACHE_SECONDS
            self._roles[channel, sender_id] = (role, until)
        return role

    async def ask(
        self, address: Address, sender: Sender
    ) -> tuple[OutboundMessage, tuple[Address, ...]] | Role:
        """The word that tells a stranger how to be let in, with the chats that are told of it; its
        key repeats within
        REPEAT_SECONDS, so it is owed once in that time. The role of somebody whom another process
        let in just now."""
        request = await self._store.ask(address, sender)
        if not isinstance(request, PairingRequest):
            self._forget()
            return request
        now = self._clock.now()
        turn = int(max(now - request.asked_at, 0.0) // REPEAT_SECONDS)
        message = OutboundMessage(
            address=address,
            text=(
                f"This assistant is private. Your pairing code is {request.code} "
                f"(valid for {_span(request.expires_at - now)}). Its owner lets you in with: "
                f"`nanobot pair approve {request.code}`"
            ),
            kind=OutboundKind.NOTICE,
            key=f"pairing:{address.channel}:{sender.id}:{request.code}:{turn}",
        )
        return message, request.told

    async def approve(self, code: str, role: Role, by: str) -> tuple[PairingView, Address]:
        """See Pairings.approve; however the code is written. It holds when this returns."""
        try:
            return await self._store.approve(code, role, by)
        finally:
            self._forget()

    async def let_in(self, channel: str, sender_id: str, role: Role, by: str) -> PairingView:
        """See PairingStore.let_in. It holds when this returns."""
        try:
            return await self._store.let_in(channel, sender_id, role, by)
        finally:
            self._forget()

    async def revoke(self, who: str, by: str) -> PairingView:
        """See Pairings.revoke. It holds when this returns; a run of theirs goes on."""
        try:
            return await self._store.revoke(who, by)
        finally:
            self._forget()

    async def listed(self, *, state: str, limit: int) -> list[PairingView]:
        return await self._store.listed(state=state, limit=limit)

    def _forget(self) -> None:
        self._changes += 1
        self._roles.clear()


def _span(seconds: float) -> str:
    minutes = max(round(seconds / 60), 1)
    return "1 hour" if minutes == VALID_SECONDS / 60 else f"{minutes} min"
