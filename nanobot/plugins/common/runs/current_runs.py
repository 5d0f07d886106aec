"""The current state of each session, for clients that start watching during a run."""

from __future__ import annotations

from nanobot.bus.core import Subscription
from nanobot.messages import EventKind, RunEvent
from nanobot.session.runs import Run


class CurrentRuns(Subscription):
    """The events that describe this process's active runs: their start, the calls in progress, and
    the approvals that they wait for. Each event is recorded when it is emitted, so a client that
    subscribes right after reading them misses none.
    """

    def __init__(self) -> None:
        super().__init__(None, frozenset(EventKind))
        self._runs: dict[str, dict[str, RunEvent]] = {}

    def of(self, session_key: str) -> list[RunEvent]:
        """The events of the session's run, beginning with its status; empty if no run is active."""
        return list(self._runs.get(session_key, {}).values())

    def all(self) -> list[RunEvent]:
        return [event for events in self._runs.values() for event in events.values()]

    def stopped(self, run: Run) -> None:
        """A command ended the run, which may be driven by another process."""
        self._runs.pop(run.session_key, None)

    def offer(self, event: RunEvent) -> None:
        session, payload = event.session_key, event.payload
        match event.kind:
            case EventKind.STATUS if payload.get("state") == "running":
                self._runs[session] = {"": event}
            case EventKind.TOOL_CALL | EventKind.APPROVAL:
                self._runs.setdefault(session, {})[payload.get("key", "approval")] = event
            case EventKind.TOOL_RESULT:
                self._runs.get(session, {}).pop(payload.get("key", ""), None)
            case EventKind.END:
                self._runs.pop(session, None)
            case _:
                pass
