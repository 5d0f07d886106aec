"""Pairing: strangers ask to be let in, in addition to the people in the configuration.

A code grants nothing: only an owner can approve it, so guessing one is useless. It ensures that the
owner lets in exactly the person who showed it to them.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Protocol

import msgspec
from msgspec import Meta

from nanobot.messages import Address, OutboundKind, OutboundMessage, Role, Sender
from nanobot.ports import Clock
from nanobot.text import WORDS, Sentence

VALID_SECONDS = 3_600.0
REPEAT_SECONDS = 300.0
"""A stranger who keeps writing gets their code again at most this often."""
MAX_OPEN = 1_000
"""Maximum number of valid codes on a channel; a new one replaces the oldest."""
KEPT_SECONDS = 86_400.0
"""How long an expired request is kept, so that `pair approve` can say that it expired."""

_CACHE_SECONDS = 5.0
_CACHED = 10_000


class PairingView(msgspec.Struct, frozen=True, kw_only=True):
    """A pairing. `who` is CHANNEL:SENDER. `state`: asked, expired, approved or revoked. `role`: the
    role they were given."""

    SHOWN: ClassVar[tuple[str, ...]] = ("who", "name", "state", "role", "code", "asked_at")

    who: str
    name: str
    state: Annotated[str, Meta(extra={WORDS: ("asked", "expired", "approved", "revoked")})]
    role: Role | None
    code: str
    asked_at: float
    expires_at: float
    decided_at: float | None
    decided_by: str | None


class PairingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A stranger's open request. `told`: the owners' chats that are being told of it."""

    code: str
    asked_at: float
    expires_at: float
    told: tuple[Address, ...] = ()


class PairingStore(Protocol):
    """Stored pairings; each verb is one transaction."""

    async def role(self, channel: str, sender_id: str) -> Role | None:
        """The role that a person was given."""

    async def ask(self, address: Address, sender: Sender) -> PairingRequest | Role:
        """The sender's open request, existing or new; their role, if they were let in meanwhile.
        Above MAX_OPEN per channel, the oldest request is removed."""

    async def approve(self, code: str, role: Role, by: str) -> tuple[PairingView, Address]:
        """Let in the person with that code, and create a message to the chat where they asked,
        which is returned. Raises NanobotError if the code is unknown, expired or used."""

    async def let_in(self, channel: str, sender_id: str, role: Role, by: str) -> PairingView:
        """Let in a person, who need not have asked. No message is sent."""

    async def revoke(self, who: str, by: str) -> PairingView:
        """Revoke the pairing and its code. `who` is a sender's id, prefixed with `CHANNEL:` if the
        id is ambiguous. Raises NanobotError."""

    async def listed(self, *, state: str, limit: int) -> list[PairingView]:
        """Requests and pairings ("": in any state), latest first."""


class Pairing:
    """The pairings of one process: looked up for every message, cached for seconds.

    A change made here is effective here at once; a change by another process over a shared store,
    after five seconds.
    """

    def __init__(self, store: PairingStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._roles: dict[tuple[str, str], tuple[Role | None, float]] = {}
        self._changes = 0

    def reached(self, channel: str) -> Sentence:
        """What strangers get there; see gate.Strangers."""
        return f"channels.{channel}: a pairing code and nothing else"

    async def role(self, channel: str, sender_id: str) -> Role | None:
        """The role a person was given; None for a stranger."""
        cached = self._roles.get((channel, sender_id))
        if cached is not None and self._clock.monotonic() < cached[1]:
            return cached[0]
        changes = self._changes
        role = await self._store.role(channel, sender_id)
        # A result read while a pairing changed may be outdated.
        if changes == self._changes:
            if len(self._roles) >= _CACHED:
                self._roles.clear()
            until = self._clock.monotonic() + _CACHE_SECONDS
            self._roles[channel, sender_id] = (role, until)
        return role

    async def ask(
        self, address: Address, sender: Sender
    ) -> tuple[OutboundMessage, tuple[Address, ...]] | Role:
        """The message that tells a stranger how to be let in, and the owners' chats to tell. Its
        key stays the same for REPEAT_SECONDS, so it is sent once in that time. Or the role, if
        another process has just let them in."""
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
        """See PairingStore.approve. Accepts any spelling of the code. Effective on return."""
        try:
            return await self._store.approve(code, role, by)
        finally:
            self._forget()

    async def let_in(self, channel: str, sender_id: str, role: Role, by: str) -> PairingView:
        """See PairingStore.let_in. Effective on return."""
        try:
            return await self._store.let_in(channel, sender_id, role, by)
        finally:
            self._forget()

    async def revoke(self, who: str, by: str) -> PairingView:
        """See PairingStore.revoke. Effective on return; an active run of theirs continues."""
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
