"""The states of runs as people see them."""

from __future__ import annotations

from nanobot.session.states import RunState

_AS_PEOPLE_SEE = {
    RunState.QUEUED: "queued",
    RunState.PREPARING: "running",
    RunState.MODEL_RUNNING: "running",
    RunState.TOOL_RUNNING: "running",
    RunState.AWAITING_HUMAN: "waiting",
    RunState.COMPLETED: "succeeded",
    RunState.FAILED: "failed",
    RunState.ABORTED: "cancelled",
}


def as_people_see(state: RunState) -> str:
    """The name of a state in texts for people."""
    return _AS_PEOPLE_SEE[state]
