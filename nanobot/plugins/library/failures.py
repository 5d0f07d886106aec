"""Errors of runs, raised for programs that want exceptions."""

from __future__ import annotations

from nanobot import errors
from nanobot.messages import RunEvent
from nanobot.session.states import RunState


def raise_failure(end: RunEvent) -> None:
    """Raise the error of a run, from its last event: the original ModelError or ConfigError, or
    RunFailed for all others. Does nothing if the run did not fail."""
    payload = end.payload
    if payload.get("state") != RunState.FAILED:
        return
    name, text = payload.get("error") or "", payload.get("text", "")
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.ModelError | errors.ConfigError):
        raise kind(text)
    raise errors.RunFailed(text, name)
