"""Whether a person typed what a call does with jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nanobot.plugins.common.typed import Said, words_of
from nanobot.text import pattern

_ADD = pattern(
    r"\b(remind|every|each|daily|weekly|monthly|alarm|wake me|schedule"
    r"|erinner|jeden|rappelle|chaque|recu[eé]rda|cada)|提醒|每|リマインド",
    re.IGNORECASE,
)
_CHANGE = pattern(
    r"\b(remove|delete|cancel|take .{1,40} away|stop|pause|resume|run|lösch|supprime"
    r"|quita|borra)|删|刪|取消|暂停|暫停",
    re.IGNORECASE,
)


def is_typed(arguments: Mapping[str, Any], said: Said) -> bool:
    """Whether the message asks for it; what a new job says, the person typed."""
    if arguments.get("action") == "list":
        return True
    if arguments.get("action") == "add":
        return said.means(_ADD) and said.all_words >= words_of(arguments, "message")
    return said.means(_CHANGE)
