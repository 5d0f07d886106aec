"""The port for answering calls instead of the tools."""

from __future__ import annotations

from typing import Protocol

from nanobot.providers.base import ToolCall
from nanobot.tools.base import CallContext, ToolOutput
from nanobot.tools.policy import PolicyDecision


class StandIn(Protocol):
    """Answers calls instead of the tools, for example from a recording."""

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        """Whether it has an answer to such a call."""
        ...

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        """The verdict on a call for which the policy decided `decision`."""
        ...

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        """The result of a call; None means that the tool runs. Raises ToolError."""
        ...
