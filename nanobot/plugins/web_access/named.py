"""Named tokens, and browsers' cookies, which a one-time link or a token grants."""

from __future__ import annotations

import secrets
import unicodedata
from collections import OrderedDict

import msgspec

from nanobot.addresses import OWNER_ID
from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.plugins.common.http.access import BROWSER_SECONDS, OWN_NAME, Principal, digest_of
from nanobot.plugins.common.page_link import PageLink
from nanobot.plugins.web_access.store import BROWSER_OF, AccessToken, SqlAccessTokens
from nanobot.plugins.web_access.views import AccessView, NewToken
from nanobot.ports import Clock
from nanobot.text import pattern

LINK_SECONDS = 600.0
_BROWSER = "browser"
_NAME = pattern(r"[^\W_][\w .-]{0,39}")
_NAMELESS = pattern(rf"{OWN_NAME}|{_BROWSER}( \d+)?")
"""The names of the gateway's token, and of browsers without a named person."""
_MOST_LINKS = 20
_MOST_TOKENS = 256
_TOKEN_SECONDS = 5.0
_NOTED_SECONDS = 300.0


class _Link(msgspec.Struct, frozen=True):
    until: float
    name: str
    role: Role


class NamedAccess:
    """The Credentials of a gateway."""

    def __init__(self, store: SqlAccessTokens, clock: Clock) -> None:
        self.store = store
        self._clock = clock
        self._links: OrderedDict[str, _Link] = OrderedDict()
        self._tokens: OrderedDict[str, tuple[AccessToken, float]] = OrderedDict()

    # Authentication

    async def by_token(self, shown: str) -> Principal | None:
        return await self._principal(shown, "token")

    async def by_cookie(self, shown: str) -> Principal | None:
        return await self._principal(shown, "browser")

    async def _principal(self, shown: str, kind: str) -> Principal | None:
        token = await self._token(digest_of(shown))
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
            csrf=digest_of(f"csrf:{shown}") if kind == "browser" else "",
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

    async def by_link(self, shown: str) -> str | None:
        link = self._links.pop(digest_of(shown), None)
        if link is None or link.until <= self._clock.monotonic():
            return None
        return await self._browser(_browser_of(link.name), link.role, None)

    async def log_in(self, principal: Principal) -> str:
        # Tokens cannot have such a name, and no conversation of another person does.
        own = principal.name == OWN_NAME
        name = _browser_of("" if own else principal.name)
        return await self._browser(name, principal.role, principal.expires_at)

    async def log_out(self, principal: Principal) -> None:
        await self.revoke(principal.name)

    def link(self, url: str, name: str, role: Role) -> PageLink:
        if name:
            _check_name(name)
        elif role is not Role.OWNER:
            raise UsageError(f"a {role} needs a name: it says whose conversations they are")
        secret = secrets.token_urlsafe(24)
        until = self._clock.monotonic() + LINK_SECONDS
        self._links[digest_of(secret)] = _Link(until=until, name=name, role=role)
        while len(self._links) > _MOST_LINKS:
            self._links.popitem(last=False)
        # Behind the #, which browsers do not send and servers do not log.
        return PageLink(url=f"{url}/#login={secret}", seconds=LINK_SECONDS)

    async def _browser(self, name: str, role: Role, until: float | None) -> str:
        cookie, now = secrets.token_urlsafe(32), self._clock.now()
        expires_at = min(now + BROWSER_SECONDS, until or float("inf"))
        await self.store.add(
            AccessToken(
                digest=digest_of(cookie),
                kind="browser",
                name=name,
                role=role,
                made_at=now,
                expires_at=expires_at,
            )
        )
        return cookie

    # Tokens

    async def tokens(self) -> list[AccessView]:
        """All tokens and browsers, the newest first."""
        return [_view(token) for token in await self.store.listed()]

    async def add(self, name: str, role: Role, days: float | None) -> NewToken:
        """Make a token; None: it does not expire. Raises UsageError."""
        _check_name(name)
        shown, now = secrets.token_urlsafe(32), self._clock.now()
        expires_at = None if days is None else now + days * 86_400
        token = AccessToken(
            digest=digest_of(shown),
            kind="token",
            name=name,
            role=role,
            made_at=now,
            expires_at=expires_at,
        )
        await self.store.add(token)
        return NewToken(name=name, role=role, expires_at=expires_at, token=shown)

    async def revoke(self, name: str) -> AccessView:
        """It opens nothing any more. Raises UnknownId."""
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


def _view(token: AccessToken) -> AccessView:
    return AccessView(
        name=token.name,
        kind=token.kind,
        role=token.role,
        made_at=token.made_at,
        used_at=token.used_at,
        expires_at=token.expires_at,
    )
