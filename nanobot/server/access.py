"""Authenticates HTTP clients by their credentials: the gateway's own token, a named token, or a
browser's cookie, which a one-time link grants.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata
from collections import OrderedDict
from pathlib import Path
from typing import Literal

import msgspec

from nanobot.addresses import OWNER_ID
from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.operations.web_access import AccessView, NewToken, PageLink
from nanobot.ports import Clock
from nanobot.store.repositories.access_tokens import BROWSER_OF, AccessToken, SqlAccessTokens
from nanobot.text import pattern

LINK_SECONDS = 600.0
BROWSER_SECONDS = 30 * 86_400.0

_OWN_NAME = "owner"
_BROWSER = "browser"
_NAME = pattern(r"[^\W_][\w .-]{0,39}")
_NAMELESS = pattern(rf"{_OWN_NAME}|{_BROWSER}( \d+)?")
"""The names of the gateway's token, and of browsers without a named person."""
_MOST_LINKS = 20
_LONG = 32
_MOST_TOKENS = 256
_TOKEN_SECONDS = 5.0
_NOTED_SECONDS = 300.0


class _Link(msgspec.Struct, frozen=True):
    until: float
    name: str
    role: Role


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller. `name` names the credential. `by` identifies the caller to the
    gateway; for a browser, it is the token that it logged in with. `person` is the person's name,
    "" if unknown. `csrf` is the token that their page has to send with every change; "" if the
    credential was not a cookie.
    """

    name: str
    role: Role
    kind: Literal["token", "browser"]
    by: str
    expires_at: float | None = None
    csrf: str = ""
    person: str = ""


class Access:
    """The web_access.WebAdmin of a gateway, and the check of credentials. `own` is the gateway's
    token; "" before it serves.
    """

    def __init__(self, store: SqlAccessTokens, clock: Clock, home: Path) -> None:
        self.own = ""
        self.url = ""
        home_id = hashlib.sha256(str(home).encode()).hexdigest()[:8]
        # Cookies ignore ports, and another nanobot may serve another port of this host.
        self.cookie = f"nanobot_{home_id}"
        self.store = store
        self._clock = clock
        self._links: OrderedDict[str, _Link] = OrderedDict()
        self._tokens: OrderedDict[str, tuple[AccessToken, float]] = OrderedDict()

    # Authentication

    async def by_token(self, shown: str) -> Principal | None:
        """The caller with this bearer token (`Authorization: Bearer`)."""
        if self.own and hmac.compare_digest(_digest(shown), _digest(self.own)):
            return Principal(name=_OWN_NAME, role=Role.OWNER, kind="token", by=OWNER_ID)
        return await self._principal(shown, "token")

    async def by_cookie(self, shown: str) -> Principal | None:
        """The caller with this browser cookie."""
        return await self._principal(shown, "browser")

    def is_guessable(self, shown: str) -> bool:
        """Whether it is short enough to be guessed. Tokens, cookies and links are not, except a
        token that a person chose.
        """
        return len(shown) < _LONG

    async def _principal(self, shown: str, kind: str) -> Principal | None:
        token = await self._token(_digest(shown))
        now = self._clock.now()
        if token is None or token.kind != kind:
            return None
        if token.expires_at is not None and token.expires_at <= now:
            return None
        owner, person = token.role is Role.OWNER, token.name.partition(BROWSER_OF)[0]
        return Principal(
            name=token.name,
            role=token.role,
            kind=token.kind,
            by=OWNER_ID if owner else person,
            person="" if _NAMELESS.fullmatch(person) else person,
            expires_at=token.expires_at,
            csrf=_digest(f"csrf:{shown}") if kind == "browser" else "",
        )

    async def _token(self, digest: str) -> AccessToken | None:
        cached, until = self._tokens.get(digest, (None, 0.0))
        if cached is not None and self._clock.monotonic() < until:
            return cached
        token = await self.store.of(digest)
        self._tokens.pop(digest, None)
        if token is None:
            return None
        now = self._clock.now()
        if token.used_at is None or now - token.used_at > _NOTED_SECONDS:
            await self.store.used(digest, now)
        self._tokens[digest] = (token, self._clock.monotonic() + _TOKEN_SECONDS)
        while len(self._tokens) > _MOST_TOKENS:
            self._tokens.popitem(last=False)
        return token

    # Browsers

    async def logged_in(self, shown: str) -> str | None:
        """The cookie in exchange for the secret of a link or a token; None if the secret is
        invalid. A link works once.
        """
        digest = _digest(shown)
        link = self._links.pop(digest, None)
        if link is not None and link.until > self._clock.monotonic():
            return await self._browser(_browser_of(link.name), link.role, None)
        principal = await self.by_token(shown)
        if principal is None:
            return None
        # Tokens cannot have such a name, and no conversation of another person does.
        own = principal.name == _OWN_NAME
        name = _browser_of("" if own else principal.name)
        return await self._browser(name, principal.role, principal.expires_at)

    async def logged_out(self, principal: Principal) -> None:
        """Log the browser out: its cookie becomes invalid."""
        if principal.kind == "browser":
            await self.revoke(principal.name)

    async def _browser(self, name: str, role: Role, until: float | None) -> str:
        cookie, now = secrets.token_urlsafe(32), self._clock.now()
        expires_at = min(now + BROWSER_SECONDS, until or float("inf"))
        await self.store.add(
            AccessToken(
                digest=_digest(cookie),
                kind="browser",
                name=name,
                role=role,
                made_at=now,
                expires_at=expires_at,
            )
        )
        return cookie

    # The WebAdmin

    def link(self, name: str = "", role: Role = Role.OWNER) -> PageLink:
        if name:
            _check_name(name)
        elif role is not Role.OWNER:
            raise UsageError(f"a {role} needs a name: it says whose conversations they are")
        if not self.url:
            raise UsageError("the page is not served: start `nanobot gateway`, with web.enabled on")
        secret = secrets.token_urlsafe(24)
        until = self._clock.monotonic() + LINK_SECONDS
        self._links[_digest(secret)] = _Link(until=until, name=name, role=role)
        while len(self._links) > _MOST_LINKS:
            self._links.popitem(last=False)
        # Behind the #, which browsers do not send and servers do not log.
        return PageLink(url=f"{self.url}/#login={secret}", seconds=LINK_SECONDS)

    async def tokens(self) -> list[AccessView]:
        return [_view(token) for token in await self.store.listed()]

    async def add(self, name: str, role: Role, days: float | None) -> NewToken:
        _check_name(name)
        shown, now = secrets.token_urlsafe(32), self._clock.now()
        expires_at = None if days is None else now + days * 86_400
        token = AccessToken(
            digest=_digest(shown),
            kind="token",
            name=name,
            role=role,
            made_at=now,
            expires_at=expires_at,
        )
        await self.store.add(token)
        return NewToken(name=name, role=role, expires_at=expires_at, token=shown)

    async def revoke(self, name: str) -> AccessView:
        removed, *browsers = await self.store.remove(name)
        for each in (removed, *browsers):
            self._tokens.pop(each.digest, None)
        return _view(removed)


def _check_name(name: str) -> None:
    """Raises UsageError for an invalid name."""
    plain = _NAME.fullmatch(name) and name == unicodedata.normalize("NFC", name).strip()
    if not plain or name == OWNER_ID or _NAMELESS.fullmatch(name):
        raise UsageError(f"{name[:60]!r} cannot be a name here: 1 to 40 letters, digits, - . _")


def _browser_of(name: str) -> str:
    """The name of a person's browser."""
    return f"{name}{BROWSER_OF})" if name else _BROWSER


def _digest(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogateescape")).hexdigest()


def _view(token: AccessToken) -> AccessView:
    return AccessView(
        name=token.name,
        kind=token.kind,
        role=token.role,
        made_at=token.made_at,
        used_at=token.used_at,
        expires_at=token.expires_at,
    )
