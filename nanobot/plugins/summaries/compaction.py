"""Compaction: a summary replaces entries that leave the window. The summary is an entry, and
lasting facts go to memory in the same transaction.

Nothing is deleted. The originals stay in the log, and /compact undo shows them to the model again.
Facts stay in memory until a person removes them.
"""

from __future__ import annotations

from collections.abc import Iterable

from loguru import logger

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.prompts import Summarizing
from nanobot.agent.run_log import latest_summary
from nanobot.messages import Origin
from nanobot.plugins.common.models.auxiliary import ask
from nanobot.plugins.common.models.material import material
from nanobot.plugins.summaries.asking import summed, summing
from nanobot.ports import Clock
from nanobot.providers.base import LLMProvider, ModelProfile
from nanobot.session.entries import AuxiliaryFailedEntry, SummaryEntry, UserEntry
from nanobot.session.keys import is_fork
from nanobot.session.lasting import LastingFacts, Provenance
from nanobot.session.scopes import scope_of
from nanobot.session.store_write import StoreWrite
from nanobot.text import clean

_PEOPLE = frozenset({Origin.USER, Origin.API, Origin.LIFECYCLE})


class Summarizers:
    """Makes what summarizes. See nanobot.agent.summarizers.Summaries."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def keeping(self, lasting: LastingFacts | None) -> Summarizing:
        """What summarizes, and keeps lasting facts there."""
        return Compaction(self._clock, lasting)


class Compaction:
    """Makes summaries. If the model fails, only the summary is missing, never the answer. Without a
    memory no facts are kept."""

    def __init__(self, clock: Clock, lasting: LastingFacts | None = None) -> None:
        self._clock = clock
        self._lasting = lasting

    async def summarise(
        self, active: ActiveRun, provider: LLMProvider, profile: ModelProfile, upto: int
    ) -> None:
        """Summarize what the model sees up to entry `upto`, and log the summary. Makes no call if
        there is one already or nothing to summarize, or if the model is too small. Raises
        OverBudget."""
        before = latest_summary(active.log.entries)
        start = active.window_from if before is None else max(before.upto + 1, active.window_from)
        source = material(active.log.entries, start, upto, int(profile.context_tokens * 1.5))
        if not profile.helper_calls or not source:
            return
        if before is not None:
            source = f"[Summary of what was before: {before.text}]\n{source}"
        scope = _scope(active, start, upto, before)
        began = self._clock.monotonic()
        request = summing(source, profile, facts=bool(self._lasting and scope))
        answer = await ask(active, (provider, profile), request)
        ms = max(int((self._clock.monotonic() - began) * 1000), 0)
        result = summed(clean(answer.text))
        if not result.summary:
            why = f"no summary of older messages: {answer.error or 'the model gave no answer'}"
            logger.warning("run {}: {}", active.run.id, why)
            note = AuxiliaryFailedEntry(stage="summary", text=why, ms=ms, usage=answer.usage)
            await active.record([note], [answer.settled])
            return
        writes: tuple[StoreWrite, ...] = ()
        if self._lasting is not None and scope:
            origin = Provenance(
                session_key=active.run.session_key,
                run_id=active.run.id,
                first_seq=start,
                last_seq=upto,
                tainted=active.tainted,
                label=active.label.encoded(),
            )
            writes = await self._lasting.keep(scope, result.facts, origin)
        body = SummaryEntry(
            text=result.summary,
            covers_from=active.window_from if before is None else before.covers_from,
            upto=upto,
            usage=answer.usage,
            profile=profile,
            ms=ms,
            scope=scope,
            facts=len(writes),
            tainted=active.tainted,
            label=active.label.encoded(),
        )
        await active.record([body], (*writes, answer.settled))
        if self._lasting is not None and writes:
            await self._lasting.filed(scope)


def _scope(active: ActiveRun, start: int, upto: int, before: SummaryEntry | None) -> str:
    """Whose memory may get the facts: the run's, if the summary covers no other person's words. A
    fork's facts go nowhere."""
    if is_fork(active.run.session_key) or (before and before.scope != active.scope):
        return ""
    covered = (e.body for e in active.log.entries if start <= e.seq <= upto)
    messages = [body for body in covered if isinstance(body, UserEntry)]
    return active.scope if _whose(messages, private=active.log.private) <= {active.scope} else ""


def _whose(entries: Iterable[UserEntry], *, private: bool) -> set[str]:
    """The scopes in which these people's messages are remembered."""
    return {
        scope_of(entry.address, entry.sender_id, entry.role, private=private)
        for entry in entries
        if entry.origin in _PEOPLE
    }
