"""The ids on the lines of a run in the log."""

from __future__ import annotations

from functools import partial

from nanobot.agent.active_run import ActiveRun
from nanobot.log_context import LOG_IDS, Ids


def begin_log_of(active: ActiveRun) -> None:
    """From now on, lines of this task and of those it starts belong to a run."""
    LOG_IDS.set(partial(_ids_of, active))


def _ids_of(active: ActiveRun) -> Ids:
    messages = [message.inbound_id for message in active.messages]
    ids: dict[str, object] = {"session": active.run.session_key, "run": active.run.id}
    if messages:
        ids["messages"] = messages
    if call := active.partial_reply().call:
        ids["call"] = call
    if kept := kept_of(active):
        ids["kept"] = kept
    return ids


def kept_of(active: ActiveRun) -> str:
    """What a plugin kept of the request that began a run."""
    return next((message.kept for message in active.messages if message.kept), "")
