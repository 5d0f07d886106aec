"""Authenticates HTTP clients: by the gateway's own token, or by credentials that a plugin keeps."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from nanobot.addresses import OWNER_ID
from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.plugins.common.page_link import PageLink

BROWSER_SECONDS = 30 * 86_400.0
"""How long a browser stays logged in."""
OWN_NAME = "owner"
"""The name of the gateway's own token."""
_LONG = 32


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller. `by` identifies the caller to the gateway; for a browser, it is the
    token that it logged in with."""

    name: str
    """Names the credential."""
    role: Role
    kind: Literal["token", "browser"]
    by: str
    expires_at: float | None = None
    csrf: str = ""
    """The token that their page has to send with every change; "" if the credential was not a
    cookie."""
    person: str = ""
    """The person's name, "" if unknown."""


class Credentials(Protocol):
    """Named tokens, and browsers that are logged in. A plugin offers it; while none is on, only the
    gateway's own token opens anything."""

    async def by_token(self, shown: str) -> Principal | None:
        """The caller with this token."""

    async def by_cookie(self, shown: str) -> Principal | None:
        """The caller with this cookie of a browser."""

    async def by_link(self, shown: str) -> str | None:
        """The cookie in exchange for the secret of a link, which works once; None if it is none."""

    async def log_in(self, principal: Principal) -> str:
        """A cookie for a browser that showed the token of this caller."""

    async def log_out(self, principal: Principal) -> None:
        """The cookie of this browser becomes invalid."""

    def link(self, url: str, name: str, role: Role) -> PageLink:
        """A new link to the page at this address. Raises UsageError for an invalid name."""


class Access:
    """Who may ask a gateway. `own` is its token; "" before it serves. `url` is where it serves more
    than endpoints of channels and deliveries."""

    def __init__(self, home: Path, credentials: Credentials | None = None) -> None:
        self.own = ""
        self.url = ""
        self.credentials = credentials
        home_id = hashlib.sha256(str(home).encode()).hexdigest()[:8]
        # Cookies ignore ports, and another nanobot may serve another port of this host.
        self.cookie = f"nanobot_{home_id}"

    async def by_token(self, shown: str) -> Principal | None:
        """The caller with this bearer token (`Authorization: Bearer`)."""
        if self.own and hmac.compare_digest(digest_of(shown), digest_of(self.own)):
            return Principal(name=OWN_NAME, role=Role.OWNER, kind="token", by=OWNER_ID)
        return None if self.credentials is None else await self.credentials.by_token(shown)

    async def by_cookie(self, shown: str) -> Principal | None:
        """The caller with this browser cookie."""
        return None if self.credentials is None else await self.credentials.by_cookie(shown)

    def is_guessable(self, shown: str) -> bool:
        """Whether it is short enough to be guessed. Tokens, cookies and links are not, except a
        token that a person chose.
        """
        return len(shown) < _LONG

    async def logged_in(self, shown: str) -> str | None:
        """The cookie in exchange for the secret of a link or a token; None if the secret is
        invalid. A link works once.
        """
        if self.credentials is None:
            return None
        cookie = await self.credentials.by_link(shown)
        if cookie is not None:
            return cookie
        principal = await self.by_token(shown)
        return None if principal is None else await self.credentials.log_in(principal)

    async def logged_out(self, principal: Principal) -> None:
        """Log the browser out: its cookie becomes invalid."""
        if principal.kind == "browser" and self.credentials is not None:
            await self.credentials.log_out(principal)

    def link(self, name: str = "", role: Role = Role.OWNER) -> PageLink:
        """A new link for a person with this name ("": an owner without a name). Raises UsageError
        for an invalid name, and if the gateway does not serve HTTP."""
        if not self.url or self.credentials is None:
            raise UsageError("the page is not served: start `nanobot gateway`, with web.enabled on")
        return self.credentials.link(self.url, name, role)


def digest_of(shown: str) -> str:
    """What is compared, and kept, of a secret."""
    return hashlib.sha256(shown.encode("utf-8", "surrogateescape")).hexdigest()
