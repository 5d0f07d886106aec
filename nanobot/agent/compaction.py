"""Compaction: what leaves the window is told in a summary, which is an entry like any other, and
what lasts of it goes to memory in the same transaction.

Nothing is deleted. The originals stay in the log, and /compact undo brings them back into view;
what went to memory stays there until a person forgets it.
"""

from __future__ import annotations

from loguru import logger

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.auxiliary import ask
from nanobot.agent.summaries import latest, material, summed, summing
from nanobot.memory.lasting import LastingFacts, whose
from nanobot.memory.port import Provenance
from nanobot.ports import Clock, StoreWrite
from nanobot.providers.base import LLMProvider, ModelProfile
from nanobot.session.entries import AuxiliaryFailedEntry, SummaryEntry, UserEntry
from nanobot.text import clean


class Compaction:
    """Makes summaries. A model that fails at it costs the summary, never the answer. Without a
    memory no facts are kept."""

    def __init__(self, clock: Clock, lasting: LastingFacts | None = None) -> None:
        self._clock = clock
        self._lasting = lasting

    async def summarise(
        self, turn: ActiveRun, provider: LLMProvider, profile: ModelProfile, upto: int
    ) -> None:
        """Have what the model sees up to entry `upto` summed up, the summary in the log. Nothing is
        asked if it stands there, if there is nothing, or if the model is too small for it. Raises
        OverBudget."""
        before = latest(turn.log.entries)
        start = turn.window_from if before is None else max(before.upto + 1, turn.window_from)
        told = material(turn.log.entries, start, upto, int(profile.context_tokens * 1.5))
        if not profile.helper_calls or not told:
            return
        if before is not None:
            told = f"[Summary of what was before: {before.text}]\n{told}"
        scope = _scope(turn, start, upto, before)
        began = self._clock.monotonic()
        request = summing(told, profile, facts=bool(self._lasting and scope))
        said = await ask(turn, (provider, profile), request)
        ms = max(int((self._clock.monotonic() - began) * 1000), 0)
        made = summed(clean(said.text))
        if not made.summary:
            why = f"no summary of what was before: {said.error or 'the model said nothing'}"
            logger.warning("run {}: {}", turn.run.id, why)
            note = AuxiliaryFailedEntry(stage="summary", text=why, ms=ms, usage=said.usage)
            await turn.record([note], [said.settled])
            return
        writes: tuple[StoreWrite, ...] = ()
        if self._lasting is not None and scope:
            origin = Provenance(
                session_key=turn.run.session_key,
                run_id=turn.run.id,
                first_seq=start,
                last_seq=upto,
                tainted=turn.tainted,
            )
            writes = await self._lasting.keep(scope, made.facts, origin)
        body = SummaryEntry(
            text=made.summary,
            covers_from=turn.window_from if before is None else before.covers_from,
            upto=upto,
            usage=said.usage,
            profile=profile,
            ms=ms,
            scope=scope,
            facts=len(writes),
            tainted=turn.tainted,
        )
        await turn.record([body], (*writes, said.settled))
        if self._lasting is not None and writes:
            await self._lasting.filed(scope)


def _scope(turn: ActiveRun, start: int, upto: int, before: SummaryEntry | None) -> str:
    """Whose memory the facts may go into: that of the run, if nobody else's words are summed up."""
    if before is not None and before.scope != turn.scope:
        return ""
    covered = (e.body for e in turn.log.entries if start <= e.seq <= upto)
    messages = [body for body in covered if isinstance(body, UserEntry)]
    return turn.scope if whose(messages, private=turn.log.private) <= {turn.scope} else ""
