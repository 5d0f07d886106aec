"""What a run failed with, as an error for programs that want one."""

from __future__ import annotations

from nanobot import errors
from nanobot.messages import RunEvent
from nanobot.session.states import RunState


def raise_failure(end: RunEvent) -> None:
    """Raise what a run failed with, by its last event: a ModelError or ConfigError as it was,
    RunFailed for all else. A run that did not fail raises nothing."""
    payload = end.payload
    if payload.get("state") != RunState.FAILED:
        return
    name, text = payload.get("error") or "", payload.get("text", "")
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.ModelError | errors.ConfigError):
        raise kind(text)
    raise errors.RunFailed(text, name)
