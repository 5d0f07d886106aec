"""The roles of a process that shares a store: which of a gateway's tasks it does."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot.errors import UsageError

ROLES = ("channels", "worker", "web")
ALL = "all"


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """`channels` serves the chat platforms, `worker` drives runs, fires jobs and watches for what
    triggers them, `web` serves HTTP."""

    channels: bool = True
    worker: bool = True
    web: bool = True

    @property
    def whole(self) -> bool:
        """Whether it does everything."""
        return self.channels and self.worker and self.web

    def __str__(self) -> str:
        if self.whole:
            return ALL
        return ",".join(name for name in ROLES if getattr(self, name))


def roles_of(names: Sequence[str]) -> Roles:
    """The roles of these names; none: all. Raises UsageError."""
    for name in names:
        if name not in (*ROLES, ALL):
            raise UsageError(f"--role is {name[:40]!r}: allowed are {', '.join(ROLES)} and {ALL}")
    if not names or ALL in names:
        return Roles()
    return Roles(**{name: name in names for name in ROLES})


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What a process serves for people: its channels, and the page, which channels include."""

    channels: bool
    page: bool
