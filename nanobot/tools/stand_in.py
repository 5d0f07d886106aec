"""The port for answering calls instead of the tools."""

from __future__ import annotations

from typing import Protocol

from nanobot.boundary import boundary
from nanobot.errors import StoreError, ToolDenied, ToolError
from nanobot.providers.base import ToolCall
from nanobot.session.keys import is_fork
from nanobot.text import Sentence
from nanobot.tools.base import CallContext, ToolOutput
from nanobot.tools.judging import of_kind
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


class ContainedStandIn:
    """A plugin's StandIn. If it fails, a call is not made, and the model is told."""

    def __init__(self, plugin: str, inner: StandIn) -> None:
        self._plugin = plugin
        self._inner = inner

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        with boundary(f"what the plugin {self._plugin} knows of a call"):
            return of_kind(self._inner.knows(name, arguments, context), bool)
        return False

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        with boundary(f"the verdict of the plugin {self._plugin}") as caught:
            return of_kind(await self._inner.judged(call, context, decision), PolicyDecision)
        if isinstance(caught.error, StoreError):
            raise caught.error
        return PolicyDecision(verdict=Verdict.DENY, rule="stand-in", why=self._why())

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        refused: ToolError | None = None
        with boundary(f"the answer of the plugin {self._plugin} to a call") as caught:
            try:
                given = await self._inner.answered(call, context)
                return None if given is None else of_kind(given, ToolOutput)
            except ToolError as error:
                refused = error
        if isinstance(caught.error, StoreError):
            raise caught.error
        if refused is None:
            raise ToolError(self._why())
        raise refused

    def _why(self) -> Sentence:
        return f"the plugin {self._plugin}, which answers calls instead of the tools, failed"


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
