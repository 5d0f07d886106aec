"""Approvals, for plugins that show or use them: who may decide them, and a port to read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from nanobot.addresses import called
from nanobot.messages import Address, OutboundMessage, Role
from nanobot.seam.installed import Interface
from nanobot.session import keys
from nanobot.session.approvals import Approval


class Approver(msgspec.Struct, frozen=True, kw_only=True):
    """A person who answers. `channel` is empty for someone with access to the home itself."""

    role: Role
    channel: str
    id: str
    name: str = ""

    @property
    def key(self) -> str:
        """Their identity, unique among all channels."""
        return keys.person(self.channel, self.id)

    @property
    def shown(self) -> str:
        """Their name as others see it."""
        return called(self.name, self.id)


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is always allowed in one conversation. `tainted`: the rule applies only to runs
    that have seen content from outside."""

    id: int
    session_key: str
    tool: str
    subject: str
    tainted: bool
    by: str
    created_at: float


class ApprovalRecords(Protocol):
    """The approvals of a store; the plugin `approvals` offers them."""

    async def approvals(self, *, session: str, state: str, limit: int) -> list[Approval]:
        """Questions of a session ("": of all), in a state ("": any, "open": undecided), newest
        first."""

    async def rules(self) -> list[RuleView]:
        """The calls that are always allowed, newest first."""


class OpenQuestions(Protocol):
    """The messages of undecided questions, and what a reaction to one means. The plugin `approvals`
    offers them."""

    def sign(self, emoji: str) -> str:
        """The operation that an emoji on a question means; empty for other emoji."""

    async def asking(self, channel: str, limit: int) -> Sequence[tuple[Address, str]]:
        """The latest questions in a channel's chats that a reaction may decide: where each is, and
        the key of its message."""

    async def pending(self, session_key: str, to: Address) -> Sequence[OutboundMessage]:
        """The questions that runs of a session wait for, as that chat shows them."""


UNDECIDED: Interface[Callable[[str], int]] = Interface("undecided")
"""How many approvals are open, from the URL of the store."""


class _Nothing:
    async def approvals(self, *, session: str, state: str, limit: int) -> list[Approval]:
        return []

    async def rules(self) -> list[RuleView]:
        return []


NO_APPROVALS: ApprovalRecords = _Nothing()
"""Where nobody is asked: there is nothing to decide, and no permission applies."""


def may_approve(approvers: tuple[str, ...], person: Approver) -> bool:
    """Owners may approve. Members may if `approvers` contains "members", and each person listed
    there as CHANNEL:ID."""
    if person.role is Role.OWNER:
        return True
    named = person.role is Role.MEMBER and "members" in approvers
    return named or person.key in approvers


def may_answer(approval: Approval, person: Approver) -> bool:
    """Who may approve a call may answer it. Only the person asked may answer a question."""
    if not approval.question:
        return may_approve(approval.approvers, person)
    own = (approval.address.channel, approval.sender_id) == (person.channel, person.id)
    return own or (not person.channel and person.role is Role.OWNER)
