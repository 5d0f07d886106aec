"""Logs one line per run of the gateway: where, how it ended, and its usage."""

from __future__ import annotations

from loguru import logger

from nanobot.bus.core import Bus, Subscription
from nanobot.log_context import LOG_IDS
from nanobot.messages import EventKind, RunEvent
from nanobot.session.runs import RunUsage

_NOT_ANSWERED = "I could not answer: "


class _Ends(Subscription):
    """The ends of runs. `kept`: what was kept of the requests of programs that began them."""

    def __init__(self) -> None:
        super().__init__(None, frozenset({EventKind.END}), elsewhere=False)
        self.kept: dict[str, object] = {}

    def offer(self, event: RunEvent) -> None:
        if event.kind is EventKind.END and (kept := LOG_IDS.get()().get("kept")):
            self.kept[event.run_id] = kept
        super().offer(event)


async def log_runs(bus: Bus) -> None:
    """Write a line for each run that ends here, until cancelled."""
    ends = _Ends()
    bus.watch(ends)
    try:
        async for event in ends:
            level = "WARNING" if event.payload.get("state") == "failed" else "INFO"
            of_run = logger.bind(session=event.session_key, run=event.run_id)
            if kept := ends.kept.pop(event.run_id, None):
                of_run = of_run.bind(kept=kept)
            of_run.log(level, "{}", line_of(event))
    finally:
        bus.unsubscribe(ends)


def line_of(event: RunEvent) -> str:
    """A finished run in one line: its chat, state, seconds, tokens and dollars; why it failed."""
    payload = event.payload
    usage = RunUsage(**payload.get("usage", {}))
    cost, state = payload.get("cost"), payload.get("state", "ended")
    parts = [
        f"{event.session_key}: {state} in {usage.active_ms / 1000:.1f} s",
        f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out",
        "at an unknown price" if cost is None else f"${cost:.4f}",
    ]
    if state == "aborted" and not usage.model_calls:
        parts = [f"{event.session_key}: aborted, before a model call was recorded"]
    text = f"{', '.join(parts)} (run {event.run_id})"
    error, answer = payload.get("error"), payload.get("text", "")
    if error:
        has_reason = answer.startswith(_NOT_ANSWERED)
        text += f": {error}" + (f": {answer.removeprefix(_NOT_ANSWERED)}" if has_reason else "")
    return " ".join(text.split())
