"""The environment of a gateway's process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from nanobot.ports import Clock, Ids
from nanobot.tools.redact import Redactor


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway's access to its process and machine. `zone`: the name of its time zone."""

    environ: Mapping[str, str]
    clock: Clock
    ids: Ids
    redact: Redactor
    began: float
    zone: str
    restart: Callable[[], None] | None = None
