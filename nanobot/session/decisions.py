"""The port to what takes the decisions of people: what words and signs in a chat decide. The plugin
`approvals` has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

import msgspec

from nanobot.messages import InboundMessage, Role
from nanobot.session.said import Order, Said


class Meant(msgspec.Struct, frozen=True, kw_only=True):
    """The operation that a message means, with its argument, or the reason why it decides
    nothing."""

    operation: str = ""
    argument: str = ""
    refusal: str = ""


Call: TypeAlias = Callable[[str, Mapping[str, Any], Any], Awaitable[object]]
"""Performs an operation with these arguments for a caller."""


class Decisions(Protocol):
    """Reads what people say and do as decisions on what they were asked."""

    async def meant(self, said: Said, order: Order) -> Meant | None:
        """What the words decide; None if they are no decision."""

    async def check(
        self, operation: str, arguments: Mapping[str, Any], message: InboundMessage, order: Order
    ) -> None:
        """Raises UsageError if a message cannot mean the operation that it asks for."""

    async def reacted(self, message: InboundMessage, role: Role, call: Call) -> None:
        """Decide what was asked in the message that a person reacted to, if the reaction is a clear
        yes or no and the person may decide. Other reactions have no effect and get no answer."""
