"""Answers the calls of forks: from the parent's run, in a copy of the workspace, or not at all."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from nanobot.config.loader import Config
from nanobot.errors import ToolDenied
from nanobot.messages import Address
from nanobot.plugins.common.files.file_readers import FileReaders
from nanobot.plugins.common.runs.recorded import (
    UNRECORDED,
    Otherwise,
    RecordedResult,
    RecordedTools,
    recorded_results,
    signature,
)
from nanobot.plugins.fork.bench import TOOLS, Bench, BenchPlace, place_of
from nanobot.plugins.fork.store import SqlForks
from nanobot.providers.base import ToolCall
from nanobot.session.entries import Entry
from nanobot.session.keys import FORKS, is_fork
from nanobot.session.labelling import of_result
from nanobot.store.opening import Store
from nanobot.tools.base import CallContext, ToolOutput
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import PolicyDecision, Verdict

_KEPT = 32
_DEEPEST = 100
_RULE = "fork"
_STRICTER = (Verdict.ALLOW, Verdict.ASK, Verdict.DENY)
_RECORDED = PolicyDecision(
    verdict=Verdict.ALLOW, rule=_RULE, why="its result is recorded", configured=True
)
_COPIED = PolicyDecision(
    verdict=Verdict.ALLOW, rule=_RULE, why="it runs in a copy of the workspace", configured=True
)
_WHY_ASKED = "this call is not in the run that this conversation was forked from"


def stand_in(config: Config, store: Store, tools: ToolRegistry, readers: FileReaders) -> ForkTools:
    """What answers calls in forks."""
    return ForkTools(place_of(config, readers), SqlForks(store.database, store.writer), tools)


class _Fork(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one fork. `address`: the chat of the run that it comes from."""

    recorded: RecordedTools
    results: Mapping[str, str]
    otherwise: Otherwise
    address: Address | None
    bench: Bench


class ForkTools:
    """A `StandIn` for the sessions of forks; every other session has its tools."""

    def __init__(self, place: BenchPlace, forks: SqlForks, tools: ToolRegistry) -> None:
        self._place = place
        self._forks = forks
        self._tools = tools
        self._known: dict[str, _Fork] = {}

    def knows(self, name: str, arguments: str, context: CallContext) -> bool:
        """Whether the call has a given or recorded result, so that no tool runs for it."""
        fork = self._known.get(context.session_key)
        return fork is not None and _answers(fork, name, arguments)

    async def judged(
        self, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        """The verdict on a call of a fork: by the policy as in the parent's chat or stricter, and
        nothing that is not recorded happens outside a copy unless a person agrees.
        """
        if not is_fork(context.session_key):
            return decision
        fork = await self._fork(context.session_key)
        if fork is None:
            return PolicyDecision(verdict=Verdict.DENY, rule=_RULE, why=_gone(context))
        if _answers(fork, call.name, call.arguments):
            return _RECORDED
        return self._otherwise(fork, call, await self._strict(fork, call, context, decision))

    def _otherwise(self, fork: _Fork, call: ToolCall, decision: PolicyDecision) -> PolicyDecision:
        """The verdict on a call without a result, for which the policy decided `decision`."""
        if decision.verdict is Verdict.DENY:
            return decision
        in_copy = call.name in TOOLS and fork.otherwise is not Otherwise.REFUSE
        if in_copy and decision.verdict is Verdict.ALLOW:
            return _COPIED
        if fork.otherwise is Otherwise.ASK and self._tools.tool(call.name) is not None:
            why = decision.why if decision.verdict is Verdict.ASK else _WHY_ASKED
            return PolicyDecision(verdict=Verdict.ASK, rule=_RULE, why=why)
        return PolicyDecision(verdict=Verdict.DENY, rule=_RULE, why=UNRECORDED)

    async def answered(self, call: ToolCall, context: CallContext) -> ToolOutput | None:
        """The result of a call of a fork; None for one that a person approved."""
        if not is_fork(context.session_key):
            return None
        fork = await self._fork(context.session_key)
        if fork is None:
            raise ToolDenied(f"not executed: {_gone(context)}")
        if call.name in fork.results:
            return self._given(fork, call, context)
        if fork.recorded.knows(call.name, call.arguments, context):
            own = tuple(e for e in context.entries if e.run_id == context.run_id)
            return await fork.recorded.answered(call, replace(context, entries=own))
        if call.name in TOOLS and fork.otherwise is not Otherwise.REFUSE:
            return await fork.bench.perform(call, context)
        if fork.otherwise is Otherwise.ASK and context.approved:
            return None
        raise ToolDenied(f"not executed: {UNRECORDED}")

    async def _strict(
        self, fork: _Fork, call: ToolCall, context: CallContext, decision: PolicyDecision
    ) -> PolicyDecision:
        """The stricter of the verdicts in the fork's conversation and in the parent's chat."""
        if fork.address is None:
            return decision
        there = replace(context, session_key="", address=fork.address)
        other = await self._tools.judge(call.name, call.arguments, there)
        return max(decision, other, key=lambda each: _STRICTER.index(each.verdict))

    def _given(self, fork: _Fork, call: ToolCall, context: CallContext) -> ToolOutput:
        """A result that a person gave. It counts as what the tool itself would return."""
        outside = replace(context, session_key="")
        like = [
            each
            for known, results in fork.recorded.recorded.items()
            if known.partition(" ")[0] == call.name
            for each in results
        ]
        tainted = self._tools.taints(call.name, call.arguments, outside)
        tainted = tainted or any(each.tainted for each in like)
        label = of_result(call.name, tainted=tainted)
        for each in like:
            label = label.join(each.output().label)
        return ToolOutput(fork.results[call.name], tainted=tainted, label=label)

    async def _fork(self, key: str) -> _Fork | None:
        """The fork of a session; None if it is gone."""
        if key not in self._known:
            entry = await self._forks.origin(key)
            if entry is None:
                return None
            recorded, address = await self._recorded(entry.run, entry.session)
            self._known[key] = _Fork(
                recorded=RecordedTools(recorded),
                results=entry.results,
                otherwise=Otherwise(entry.otherwise),
                address=address,
                bench=Bench(self._place, FORKS.id_of(key), self._tools),
            )
            while len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
        return self._known[key]

    async def _recorded(
        self, run_id: str, session: str
    ) -> tuple[dict[str, tuple[RecordedResult, ...]], Address | None]:
        """The results of the parent's run and, if that is a fork, of those above it, and the chat
        in which the first of them was. Each run's results precede those of its parent.
        """
        found: dict[str, tuple[RecordedResult, ...]] = {}
        address: Address | None = None
        for _ in range(_DEEPEST):
            for known, results in recorded_results(await self._calls(run_id)).items():
                found.setdefault(known, results)
            address = await self._forks.address(run_id) or address
            above = await self._forks.origin(session) if is_fork(session) else None
            if above is None:
                break
            run_id, session = above.run, above.session
        return found, address

    async def _calls(self, run_id: str) -> list[Entry]:
        entries: list[Entry] = []
        while some := await self._forks.calls(run_id, entries[-1].seq if entries else 0):
            entries += some
        return entries


def _answers(fork: _Fork, name: str, arguments: str) -> bool:
    return name in fork.results or bool(fork.recorded.recorded.get(signature(name, arguments)))


def _gone(context: CallContext) -> str:
    return f"the origin of {context.session_key} is gone, so its calls cannot be answered"
