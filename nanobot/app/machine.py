"""The process that a gateway is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from nanobot.ports import Clock, Ids
from nanobot.system import local_zone
from nanobot.tools.redact import Redactor


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway has of the process that it is in."""

    environ: Mapping[str, str]
    clock: Clock
    ids: Ids
    redact: Redactor
    began: float
    restart: Callable[[], None] | None = None

    @property
    def zone(self) -> str:
        """The name of its time zone."""
        return local_zone(self.environ)
