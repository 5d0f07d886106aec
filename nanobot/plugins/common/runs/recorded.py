"""The tool calls of a log with their results, and what answers calls from them.

The functions are pure. `RecordedTools` takes the place of tools (`ToolRegistry.stand_in`): a call
that the log knows gets its recorded result, and no tool runs for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from nanobot import labels
from nanobot.agent.step import signature as signature
from nanobot.errors import ToolDenied
from nanobot.labels import Label
from nanobot.messages import Attachment
from nanobot.providers.base import ToolCall
from nanobot.session.entries import Body, Entry, ReplyEntry, ToolResultEntry
from nanobot.tools.base import CallContext, ToolOutput
from nanobot.tools.verdict import PolicyDecision, Verdict

_ERROR = "error: "


class RecordedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of a log gave. `seq`: its entry."""

    text: str
    ok: bool = True
    tainted: bool = False
    label: str = ""
    attachments: tuple[Attachment, ...] = ()
    addresses: tuple[str, ...] = ()
    seq: int = 0

    def output(self) -> ToolOutput:
        """The result as a tool returns it. The caller adds the word `error` before the text of a
        failed call, so this function removes it."""
        return ToolOutput(
            self.text if self.ok else self.text.removeprefix(_ERROR),
            tainted=self.tainted,
            attachments=self.attachments,
            failed=not self.ok,
            addresses=self.addresses,
            label=labels.read(self.label, tainted=self.tainted) if self.label else Label(),
        )


Recorded: TypeAlias = Mapping[str, tuple[RecordedResult, ...]]
"""The results of each call, by its signature, in the order of the log."""


def recorded_results(entries: Sequence[Entry]) -> dict[str, tuple[RecordedResult, ...]]:
    """The recorded results of each call of a log, in order. Left out is a call that was erased, or
    refused, or interrupted: no tool gave it a result."""
    calls: dict[tuple[str, int, int], str] = {}
    results: dict[str, list[RecordedResult]] = {}
    for entry in entries:
        body = entry.body
        if isinstance(body, ReplyEntry):
            for index, call in enumerate(body.tool_calls):
                calls[entry.run_id, body.call, index] = signature(call.name, call.arguments)
        elif isinstance(body, ToolResultEntry):
            known = calls.get((entry.run_id, body.call, body.index))
            if known is not None and (body.ok or body.text.startswith(_ERROR)):
                results.setdefault(known, []).append(_result(entry.seq, body))
    return {known: tuple(found) for known, found in results.items()}


def _result(seq: int, body: ToolResultEntry) -> RecordedResult:
    return RecordedResult(
        text=body.text,
        ok=body.ok,
        tainted=body.tainted,
        label=body.label,
        attachments=body.attachments,
        addresses=body.addresses,
        seq=seq,
    )


class Otherwise(StrEnum):
    """What becomes of a call that the log does not know. refuse: the model is told so. ask: a
    person decides, and the tool runs if they agree. copy: it runs elsewhere, in a copy."""

    REFUSE = "refuse"
    ASK = "ask"
    COPY = "copy"


Elsewhere: TypeAlias = Callable[[str, str, CallContext], Awaitable[ToolOutput]]
"""Runs a call (name, arguments, context) where it does no harm. Raises ToolError."""

UNRECORDED = "this call is not in the recording, and nothing new may be done here"
_RULE = "recorded"


class RecordedTools:
    """A `StandIn` that answers from a recording: the n-th call of a signature gets its n-th result,
    and every further one the last."""

    def __init__(
        self,
        recorded: Recorded,
        otherwise: Otherwise = Otherwise.REFUSE,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """`elsewhere` runs other calls if `otherwise` is `copy`; without it they are refused."""
        self.recorded = recorded
        self.otherwise = otherwise
        self._elsewhere = elsewhere
        refuses = otherwise is Otherwise.COPY and elsewhere is None
        self._refuses = refuses or otherwise is Otherwise.REFUSE

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        """Whether such a call is in the recording."""
        return bool(self.recorded.get(signature(name, arguments)))

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        """A recorded call is allowed, because nothing happens. Any other is never allowed more
        than the policy allows it."""
        if self.knows(call.name, call.arguments, context):
            return PolicyDecision(verdict=Verdict.ALLOW, rule=_RULE, why="its result is recorded")
        if decision.verdict is Verdict.DENY or self._refuses:
            why = decision.why if decision.verdict is Verdict.DENY else UNRECORDED
            return PolicyDecision(verdict=Verdict.DENY, rule=_RULE, why=why)
        if self.otherwise is Otherwise.ASK:
            why = "this call is not in the recording that the conversation was forked from"
            return PolicyDecision(verdict=Verdict.ASK, rule=_RULE, why=why)
        return PolicyDecision(verdict=Verdict.ALLOW, rule=_RULE, why="it runs in a copy")

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        """The result of a call without its tool; None for one that a person approved."""
        results = self.recorded.get(signature(call.name, call.arguments))
        if results:
            position = earlier(context.entries, context.key, call)
            return results[min(position, len(results) - 1)].output()
        if self.otherwise is Otherwise.COPY and self._elsewhere is not None:
            return await self._elsewhere(call.name, call.arguments, context)
        if self.otherwise is Otherwise.ASK and context.approved:
            return None
        raise ToolDenied(f"not executed: {UNRECORDED}")


def earlier(entries: Sequence[Entry], key: str, call: ToolCall) -> int:
    """How many calls of the same signature a log holds before the one with this key. The number
    depends only on the log, so an interrupted run continues with the same results."""
    wanted, count = signature(call.name, call.arguments), 0
    for entry in entries:
        for index, asked in enumerate(_calls(entry.body)):
            if f"{entry.run_id}:{getattr(entry.body, 'call', 0)}:{index}" == key:
                return count
            count += signature(asked.name, asked.arguments) == wanted
    return count


def _calls(body: Body | None) -> tuple[ToolCall, ...]:
    return body.tool_calls if isinstance(body, ReplyEntry) else ()
