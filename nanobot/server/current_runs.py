"""What goes on in each session, for who comes to watch it in the middle."""

from __future__ import annotations

from nanobot.bus.core import Bus
from nanobot.messages import EventKind, RunEvent
from nanobot.session.runs import Run

_KINDS = frozenset(EventKind) - {EventKind.MODEL_DELTA}


class CurrentRuns:
    """The events that say how it stands with the runs driven here: that they began, which calls
    go on, and what they wait for."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._events: dict[str, dict[str, RunEvent]] = {}
        bus.on_stopped(self._stopped)

    async def follow(self) -> None:
        """Watch until cancelled."""
        watching = self._bus.subscribe(None, _KINDS)
        try:
            async for event in watching:
                self._keep(event)
        finally:
            self._bus.unsubscribe(watching)

    def of(self, session_key: str) -> list[RunEvent]:
        """The events of the session's run, the first of them its status; none if nothing runs."""
        return list(self._events.get(session_key, {}).values())

    def _stopped(self, run: Run) -> None:
        self._events.pop(run.session_key, None)

    def _keep(self, event: RunEvent) -> None:
        session, payload = event.session_key, event.payload
        match event.kind:
            case EventKind.STATUS if payload.get("state") == "running":
                self._events[session] = {"": event}
            case EventKind.TOOL_CALL | EventKind.APPROVAL:
                self._events.setdefault(session, {})[payload.get("key", "approval")] = event
            case EventKind.TOOL_RESULT:
                self._events.get(session, {}).pop(payload.get("key", ""), None)
            case EventKind.END:
                self._events.pop(session, None)
            case _:
                pass
