"""What a process has to know the others by, over the store that they share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from nanobot.plugins.postgres.store.beats import Beats
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.ports import Clock


class OverStore(NamedTuple):
    """Its notices and heartbeats. `ended`: whether a run has."""

    notices: Notices
    clock: Clock
    beats: Beats
    ended: Callable[[str], Awaitable[bool]]
