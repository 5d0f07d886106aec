"""What is known here of runs that other processes drive, from their signals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import msgspec

from nanobot.messages import Address, EventKind, RunEvent
from nanobot.session.entries import ReplyEntry

FOLLOW_AFTER = 0.7
"""Seconds of a run until its chat requests its output: a fast answer costs no notice."""
DOUBT_AFTER = 10.0
"""After this long without a signal of a run, the store is asked whether it has ended."""


class RemoteRun:
    """One run. `shown`: in a chat that is served here; `there`: shown by the process that drives
    it; `followed`: its output was requested.
    """

    def __init__(self, event: RunEvent, now: float, *, shown: bool, there: bool) -> None:
        self.there = there
        self.address = event.payload.get("address")
        self.session_key = event.session_key
        self.since = self.heard = now
        self.shown = shown
        self.followed = False
        self.model_call = event.model_call
        self.text = ""

    def new_of(self, event: RunEvent, *, anew: bool) -> RunEvent:
        """The delta with the part of its text that was unknown; `anew`: it contains the text of the
        whole call.
        """
        text = str(event.payload.get("text", ""))
        if event.model_call != self.model_call:
            self.model_call, self.text = event.model_call, ""
        shown = self.text if anew and text.startswith(self.text) else ""
        self.text = text if anew else self.text + text
        if not shown:
            return event
        return msgspec.structs.replace(event, payload={"text": text[len(shown) :]})


class RemoteRuns:
    """Active runs of other processes. `serves` tells which channels are served here."""

    def __init__(self, serves: Callable[[], Collection[str]]) -> None:
        self._serves = serves
        self._runs: dict[str, RemoteRun] = {}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def text_so_far(self, run_id: str) -> str | None:
        """The model's output so far in a run; None if nothing is known of it."""
        run = self._runs.get(run_id)
        return None if run is None else run.text

    def partial(self, session_key: str) -> ReplyEntry | None:
        """The same by the session, to be kept when the run is stopped."""
        for run in self._runs.values():
            if run.session_key == session_key and run.text:
                return ReplyEntry(call=run.model_call, text=run.text, partial=True)
        return None

    def shown_there(self, run_id: str) -> bool:
        """Whether the process that drives a run shows it in its chat."""
        run = self._runs.get(run_id)
        return run is not None and run.there

    def said_in(self, address: Address) -> str:
        """The output of a run that the driving process shows in that chat."""
        said = (run.text for run in self._runs.values() if run.there and run.address == address)
        return next(said, "")

    def followed(self) -> list[str]:
        """The sessions whose runs are shown in chats here."""
        return [run.session_key for run in self._runs.values() if run.followed]

    def new(self) -> bool:
        """Whether any of them may have to be followed soon."""
        return any(run.shown and not run.followed for run in self._runs.values())

    def slow(self, now: float) -> list[str]:
        """Those that must be followed from now on."""
        due = [
            run
            for run in self._runs.values()
            if run.shown and not run.followed and now - run.since >= FOLLOW_AFTER
        ]
        for run in due:
            run.followed = True
        return [run.session_key for run in due]

    def doubtful(self, now: float) -> Iterator[tuple[str, str]]:
        """Runs without a signal for a long time, each once per interval, with their sessions."""
        for run_id, run in list(self._runs.items()):
            if now - run.heard >= DOUBT_AFTER:
                run.heard = now
                yield run_id, run.session_key

    def forget(self, run_id: str) -> None:
        """The run is now driven here, or by no process."""
        self._runs.pop(run_id, None)

    def note(
        self, event: RunEvent, now: float, *, anew: bool, there: bool = False
    ) -> RunEvent | None:
        """Record an event; returns the part of it that is new here."""
        remote = self._runs.get(event.run_id)
        state = event.payload.get("state")
        if remote is not None:
            remote.heard = now
        if event.kind is EventKind.END or state == "waiting":
            self.forget(event.run_id)
        elif event.kind is EventKind.STATUS and state == "running":
            if anew and remote is not None:
                return None
            address = event.payload.get("address")
            shown = address is not None and address.channel in self._serves()
            self._runs[event.run_id] = RemoteRun(event, now, shown=shown, there=there)
        elif remote is None:
            return event
        elif event.kind is EventKind.MODEL_DELTA and "text" in event.payload:
            return remote.new_of(event, anew=anew)
        elif state == "retrying":
            remote.text = ""
        return None if anew and remote is not None else event


def end_of(run_id: str, session_key: str, at: float) -> RunEvent:
    """The end of a run of which nothing else is known."""
    return RunEvent(
        run_id=run_id,
        session_key=session_key,
        model_call=0,
        seq=0,
        kind=EventKind.END,
        at=at,
        payload={"state": "ended", "message_ids": []},
    )
