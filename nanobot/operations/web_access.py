"""Who may ask over HTTP, as people are told."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

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


class PageLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that opens the page once, for `seconds`; the first browser that opens it is logged
    in."""

    url: str
    seconds: float


class WebAdmin(Protocol):
    """Tokens and browsers that have access over HTTP."""

    def link(self, name: str = "", role: Role = Role.OWNER) -> PageLink:
        """A new link for a person with this name ("": an owner without a name). Raises UsageError
        for an invalid name, and if the gateway does not serve HTTP."""
        ...

    async def tokens(self) -> list[AccessView]:
        """All tokens and browsers, the newest first."""
        ...

    async def add(self, name: str, role: Role, days: float | None) -> NewToken:
        """Make a token; None: it does not expire. Raises UsageError."""
        ...

    async def revoke(self, name: str) -> AccessView:
        """It opens nothing any more. Raises UnknownId."""
        ...
