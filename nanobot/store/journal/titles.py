"""The title that a session gets from its first message."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from nanobot.session.inbox import Admission
from nanobot.store.database import message_tables as schema
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import log
from nanobot.store.unit import Unit
from nanobot.text import title_of

_s = schema.sessions

_NAME = Prepared(
    sa.update(_s)
    .where(_s.c.key == sa.bindparam("k"), _s.c.title == "")
    .values(title=sa.bindparam("title"))
)


def begin(unit: Unit, admission: Admission, session: Any) -> None:
    """Create the session of a message if necessary (`session` is its row, if it existed). The
    message gives it a title if it can; a command cannot.
    """
    spoken = admission.for_run and not admission.message.command
    text = admission.message.text if spoken else ""
    if session is None:
        log.ensure_session(unit, admission.session_key, text)
    elif text and not session.title:
        _NAME.execute(unit, k=admission.session_key, title=title_of(text))
