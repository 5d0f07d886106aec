"""The model that a session was given."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import message_tables as schema
from nanobot.store.journal import log
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_s = schema.sessions


class SessionModels(SqlStore):
    """Sets it, over the store of a journal."""

    @transaction("set_model")
    def set_model(self, unit: Unit, session_key: str, model: str | None) -> None:
        """Choose the model of this session's next calls; None: the configured one."""
        log.ensure_session(unit, session_key, "")
        unit.execute(sa.update(_s).where(_s.c.key == session_key).values(model=model))
