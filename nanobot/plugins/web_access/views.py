"""Who may ask over HTTP, as people are told."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nanobot.messages import Role


class AccessView(msgspec.Struct, frozen=True, kw_only=True):
    """A named token, or a browser that is logged in. `used_at`: its last request,
    approximately."""

    SHOWN: ClassVar[tuple[str, ...]] = ("name", "kind", "role", "used_at", "expires_at")

    name: str
    kind: Literal["token", "browser"]
    role: Role
    made_at: float
    used_at: float | None
    expires_at: float | None


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token just made. This is the only time that `token` is shown."""

    name: str
    role: Role
    expires_at: float | None
    token: str
