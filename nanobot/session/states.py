"""The states of a run, and the table of allowed transitions."""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    """The state of a run. Recovery changes a run's owner, never its state."""

    QUEUED = "queued"
    PREPARING = "preparing"
    MODEL_RUNNING = "model_running"
    TOOL_RUNNING = "tool_running"
    AWAITING_HUMAN = "awaiting_human"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"


class RunKind(StrEnum):
    """chat: the run answers a person. task: it works in the background."""

    CHAT = "chat"
    TASK = "task"


_S = RunState

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    _S.QUEUED: frozenset({_S.PREPARING, _S.FAILED, _S.ABORTED}),
    _S.PREPARING: frozenset({_S.MODEL_RUNNING, _S.COMPLETED, _S.FAILED, _S.ABORTED}),
    _S.MODEL_RUNNING: frozenset(
        {_S.MODEL_RUNNING, _S.TOOL_RUNNING, _S.COMPLETED, _S.FAILED, _S.ABORTED}
    ),
    _S.TOOL_RUNNING: frozenset({_S.MODEL_RUNNING, _S.AWAITING_HUMAN, _S.FAILED, _S.ABORTED}),
    _S.AWAITING_HUMAN: frozenset({_S.TOOL_RUNNING, _S.MODEL_RUNNING, _S.FAILED, _S.ABORTED}),
    _S.COMPLETED: frozenset(),
    _S.FAILED: frozenset(),
    _S.ABORTED: frozenset(),
}

LIVE = frozenset(state for state, following in TRANSITIONS.items() if following)

PREDECESSORS: dict[RunState, tuple[str, ...]] = {
    state: tuple(sorted(before for before, after in TRANSITIONS.items() if state in after))
    for state in RunState
}
