"""The ids of a run, for lines of the log."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nanobot.agent.service.sending import kept_of
from nanobot.log_context import LOG_IDS, Ids

if TYPE_CHECKING:
    from nanobot.agent.active_run import ActiveRun


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
