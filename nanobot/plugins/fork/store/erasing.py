"""Removes the plan of a fork with its conversation: it has results that a person gave."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.session.keys import FORKS
from nanobot.store.database.connection import Connection

_FORGET = sa.text("DELETE FROM fork_runs WHERE run_id = :run_id")


class ErasedForks:
    """See nanobot.store.unit.EraseHook."""

    def erases(self, connection: Connection, session_key: str) -> None:
        """Remove the plan if this is the conversation of a fork."""
        prefix = FORKS.of("")
        if session_key.startswith(prefix):
            connection.execute(_FORGET, {"run_id": session_key.removeprefix(prefix)})


def hook() -> ErasedForks:
    """What takes part in removals."""
    return ErasedForks()
