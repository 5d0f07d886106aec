"""The port to what answers calls in the place of tools."""

from __future__ import annotations

from typing import Protocol

from nanobot.providers.base import ToolCall
from nanobot.tools.base import CallContext, ToolOutput
from nanobot.tools.policy import PolicyDecision


class StandIn(Protocol):
    """What answers calls in the place of tools, from a recording for example."""

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        """Whether it has an answer to such a call."""
        ...

    def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        """The verdict on a call, where the policy says `decision`."""
        ...

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        """The result of a call; None lets the tool run. Raises ToolError."""
        ...
