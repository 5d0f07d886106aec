"""The port for answering calls instead of the tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nanobot.boundary import Caught, boundary, guarded
from nanobot.errors import StoreError, ToolDenied, ToolError, ToolTimeout
from nanobot.providers.base import ToolCall
from nanobot.seam.given import of_kind
from nanobot.session.keys import is_fork
from nanobot.text import Sentence
from nanobot.tools.base import AnyTool, CallContext, ToolOutput
from nanobot.tools.verdict import PolicyDecision, Verdict

STAND_IN_SECONDS = 60.0
"""Time limit for a plugin's StandIn that has no `seconds` of its own, besides that of the tool for
which it answers: it may make the call itself."""


class StandIn(Protocol):
    """Answers calls instead of the tools, for example from a recording."""

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        """Whether it has an answer to such a call."""

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        """The verdict on a call for which the policy decided `decision`."""

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        """The result of a call; None means that the tool runs. Raises ToolError."""


class ContainedStandIn:
    """A plugin's StandIn. If it fails or takes too long, a call is not made, and the model is told.
    `tool` finds the tool of a name.
    """

    def __init__(self, plugin: str, inner: StandIn, tool: Callable[[str], AnyTool | None]) -> None:
        self._plugin = plugin
        self._inner = inner
        self._tool = tool

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        with boundary(f"what the plugin {self._plugin} knows of a call"):
            return of_kind(self._inner.knows(name, arguments, context), bool)
        return False

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        async def given() -> PolicyDecision:
            return of_kind(await self._inner.judged(call, context, decision), PolicyDecision)

        def denied(caught: Caught) -> PolicyDecision:
            why = self._why(call, caught)
            return PolicyDecision(verdict=Verdict.DENY, rule="stand-in", why=why)

        what: Sentence = f"the verdict of the plugin {self._plugin}"
        return await guarded(what, given, denied, self._seconds(call))

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        async def given() -> ToolOutput | None:
            output = await self._inner.answered(call, context)
            return None if output is None else of_kind(output, ToolOutput)

        def failed(caught: Caught) -> None:
            why = self._why(call, caught)
            raise ToolTimeout(why) if caught.late else ToolError(why)

        what: Sentence = f"the answer of the plugin {self._plugin} to a call"
        return await guarded(what, given, failed, self._seconds(call), ToolError)

    def _seconds(self, call: ToolCall) -> float:
        own: float | None = getattr(self._inner, "seconds", None)
        if own is not None:
            return own
        tool = self._tool(call.name)
        return STAND_IN_SECONDS + (0.0 if tool is None else tool.timeout)

    def _why(self, call: ToolCall, caught: Caught) -> Sentence:
        """What the model is told of a failure. Raises a StoreError, which ends the run."""
        if isinstance(caught.error, StoreError):
            raise caught.error
        if not caught.late:
            return f"the plugin {self._plugin}, which answers calls instead of the tools, failed"
        seconds = f"{self._seconds(call):g}"
        return (
            f"the plugin {self._plugin}, which answers calls instead of the tools, took over "
            f"{seconds} s and was stopped"
        )


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
