"""The port to the approvals of a store, for operations and chats."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from nanobot.messages import Address
from nanobot.plugins.common.approvals import ApprovalRecords
from nanobot.session.approvals import Approval


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A person's decision. `always`: the same call is allowed in this chat from now on. `program`:
    another program gives it."""

    state: Literal["approved", "denied", "answered"]
    by: str
    text: str = ""
    always: bool = False
    program: bool = False


class AnswerOutcome(msgspec.Struct, frozen=True):
    """The effect of an answer. `fresh` is False if another answer or the expiry came first."""

    approval: Approval
    fresh: bool


class Approvals(ApprovalRecords, Protocol):
    """The approvals of a store. Each function is one transaction, or pages of a list."""

    async def answer(self, identity: int, answer: ApprovalAnswer) -> AnswerOutcome | None:
        """Record a person's answer. The first one counts. None: there is no such question. A parked
        run continues with the answer. If its run has continued without it, an approval adds a
        message whose run makes exactly that call first."""

    async def approval(self, number: int) -> Approval | None:
        """One question."""

    async def seen(self, number: int, person: str) -> None:
        """Record that a person (`Approver.key`) was shown the whole call."""

    async def asked_by(self, chat: Address, message_id: str) -> Approval | None:
        """The open question that this message of ours asks, by the platform's id of a message. The
        thread is not compared."""

    async def forget_rule(self, number: int) -> bool:
        """Revoke a permanent permission. False: there is none with that number."""
