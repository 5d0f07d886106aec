"""The commands /compact and /compact undo, each performed in its conversation's lane."""

from __future__ import annotations

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.model_calls import ModelCaller
from nanobot.agent.run_log import latest_summary
from nanobot.messages import LaneCommand, OutboundKind
from nanobot.session.entries import SummaryEntry, SummaryUndoneEntry
from nanobot.session.runs import WindowChange
from nanobot.session.states import RunState
from nanobot.text import Sentence, around


async def obey(active: ActiveRun, command: LaneCommand, calls: ModelCaller) -> bool:
    """See nanobot.agent.runner.Obey."""
    if command is LaneCommand.COMPACT_UNDO:
        return await _undo(active)
    summary = await _summarized(active, calls)
    text = "There is nothing to sum up, or this model cannot."
    if summary is not None:
        text = f"I continue with this summary (`/compact undo` reverts it):\n\n{summary.text}"
        if summary.facts:
            text += f"\n\n({_facts(summary)} went to memory: /memory list)"
    own = around(text, summary.text if summary is not None else "")
    return await active.finish(RunState.COMPLETED, text, OutboundKind.NOTICE, own=own)


async def _summarized(active: ActiveRun, calls: ModelCaller) -> SummaryEntry | None:
    """Summarize everything before this run. None if there is nothing, or the model cannot."""
    made = any(isinstance(body, SummaryEntry) for body in active.bodies)  # before a crash
    if calls.summarizing is not None and not made:
        provider, profile = await calls.models.pick(active.model)
        await calls.summarizing.summarise(active, provider, profile, active.log.entries[-1].seq)
    return next((body for body in active.bodies if isinstance(body, SummaryEntry)), None)


async def _undo(active: ActiveRun) -> bool:
    summary, kind = latest_summary(active.log.entries), OutboundKind.NOTICE
    if summary is None:
        text = "There is no summary to take back."
        return await active.finish(RunState.COMPLETED, text, kind)
    text = "I see everything again that the summary covered."
    if summary.facts:
        facts = _facts(summary)
        text += f" What went to memory with it ({facts}) stays there: /memory list"
    last, window = [SummaryUndoneEntry()], WindowChange(summary.covers_from)
    return await active.finish(RunState.COMPLETED, text, kind, last=last, window=window)


def _facts(summary: SummaryEntry) -> Sentence:
    return "1 fact" if summary.facts == 1 else f"{summary.facts} facts"
