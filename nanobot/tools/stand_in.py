"""The port for answering calls instead of the tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from nanobot.boundary import boundary
from nanobot.errors import StoreError, ToolDenied, ToolError, ToolTimeout
from nanobot.providers.base import ToolCall
from nanobot.seam.given import of_kind
from nanobot.session.keys import is_fork
from nanobot.text import Sentence
from nanobot.tools.base import CallContext, ToolOutput
from nanobot.tools.verdict import PolicyDecision, Verdict

STAND_IN_SECONDS = 60.0
"""Time limit for a plugin's StandIn that has no `seconds` of its own, besides that of the tool for
which it answers: it may make the call itself."""


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
    """A plugin's StandIn. If it fails or takes too long, a call is not made, and the model is told.
    `limit` returns the time limit of a tool in seconds, 0 if there is none of that name.
    """

    def __init__(self, plugin: str, inner: StandIn, limit: Callable[[str], float]) -> None:
        self._plugin = plugin
        self._inner = inner
        self._limit = limit

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        with boundary(f"what the plugin {self._plugin} knows of a call"):
            return of_kind(self._inner.knows(name, arguments, context), bool)
        return False

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        limit = asyncio.timeout(self._seconds(call))
        with boundary(f"the verdict of the plugin {self._plugin}") as caught:
            async with limit:
                given = await self._inner.judged(call, context, decision)
            return of_kind(given, PolicyDecision)
        if isinstance(caught.error, StoreError):
            raise caught.error
        why = self._too_long(call) if limit.expired() else self._failed()
        return PolicyDecision(verdict=Verdict.DENY, rule="stand-in", why=why)

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        refused: ToolError | None = None
        limit = asyncio.timeout(self._seconds(call))
        with boundary(f"the answer of the plugin {self._plugin} to a call") as caught:
            try:
                async with limit:
                    given = await self._inner.answered(call, context)
                return None if given is None else of_kind(given, ToolOutput)
            except ToolError as error:
                refused = error
        if isinstance(caught.error, StoreError):
            raise caught.error
        if refused is not None:
            raise refused
        if limit.expired():
            raise ToolTimeout(self._too_long(call))
        raise ToolError(self._failed())

    def _seconds(self, call: ToolCall) -> float:
        own: float | None = getattr(self._inner, "seconds", None)
        return self._limit(call.name) + STAND_IN_SECONDS if own is None else own

    def _failed(self) -> Sentence:
        return f"the plugin {self._plugin}, which answers calls instead of the tools, failed"

    def _too_long(self, call: ToolCall) -> Sentence:
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
