"""The port for answering calls instead of the tools."""

from __future__ import annotations

from typing import Protocol

from nanobot.errors import ToolDenied
from nanobot.providers.base import ToolCall
from nanobot.session.keys import is_fork
from nanobot.tools.base import CallContext, ToolOutput
from nanobot.tools.verdict import PolicyDecision, Verdict


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


class _ToolsThemselves:
    """Every call goes to its tool, except those of forks: these may have no effect, and nothing
    here can answer them.
    """

    _WHY = "a fork makes no calls where the plugin fork is off"

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        return False

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        if not is_fork(context.session_key):
            return decision
        return PolicyDecision(verdict=Verdict.DENY, rule="forks", why=self._WHY)

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        if is_fork(context.session_key):
            raise ToolDenied(self._WHY)
        return None


TOOLS_THEMSELVES: StandIn = _ToolsThemselves()
"""No stand-in."""
