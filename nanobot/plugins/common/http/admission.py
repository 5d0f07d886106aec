"""Decides whether a request is accepted: by its origin, its credentials, and the rate limit."""

from __future__ import annotations

import hmac

from aiohttp import web

from nanobot.messages import Role
from nanobot.plugins.common.http.access import Access, Principal
from nanobot.plugins.common.http.guards import client_of, host_allowed, origin_allowed
from nanobot.plugins.common.http.path_prefix import note_prefix
from nanobot.plugins.common.http.rates import Rates
from nanobot.plugins.common.http.seats import Seats
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.web_server import room
from nanobot.plugins.common.http.wire import Problem
from nanobot.ports import Clock

CSRF = "X-CSRF-Token"

_PRINCIPAL = web.RequestKey("principal", Principal)
_SAFE = {"GET", "HEAD", "OPTIONS"}
_MOST_CHARS = 1_024
_REQUESTS = {"burst": 400.0, "per_second": 100.0}
_MISTAKES = {"burst": 20.0, "per_second": 0.2}


def principal_of(request: web.Request) -> Principal:
    """The caller of an admitted request."""
    return request[_PRINCIPAL]


class Admission:
    """Admits requests. A client with too many wrong credentials has to wait, but clients that are
    logged in do not.
    """

    def __init__(self, settings: WebSettings, access: Access, clock: Clock) -> None:
        self.access = access
        self.seats = Seats(room())
        self.prefix = settings.prefix
        self._settings = settings
        self._names = settings.names
        self._hosts = (*self._names, settings.host)
        self._requests = Rates(clock, **_REQUESTS)
        self._mistakes = Rates(clock, **_MISTAKES)

    def check_origin(self, request: web.Request) -> None:
        """Raises Problem if the Host is not accepted, or the request comes from another site's
        page. It also determines the request's path prefix.
        """
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not host_allowed(headers.get("host", ""), self._hosts):
            text = "This name is not known here; put it into web.hosts if it should be."
            raise Problem(403, "unknown_host", text)
        if not origin_allowed(headers, self._names):
            raise Problem(403, "foreign_origin", "Pages of other sites may not ask here.")
        note_prefix(request, self.prefix, trusted=self._from_proxy(request))

    def client(self, request: web.Request) -> str:
        """The address of the client."""
        # A proxy may add a line of its own behind those that the client sent.
        forwarded = ",".join(request.headers.getall("X-Forwarded-For", ()))
        return client_of(request.remote or "", forwarded, self._settings.trusted_proxies)

    def is_secure(self, request: web.Request) -> bool:
        """Whether the browser's connection is encrypted, as reported by a trusted proxy."""
        if not self._from_proxy(request):
            return False
        told = ",".join(request.headers.getall("X-Forwarded-Proto", ()))
        return told.rpartition(",")[2].strip().lower() == "https"

    def _from_proxy(self, request: web.Request) -> bool:
        return (request.remote or "") in self._settings.trusted_proxies

    async def admit(self, request: web.Request, *, page: bool = True) -> None:
        """Authenticate the caller. If a `page` may make the request, it has to prove that it is
        ours. Raises Problem.
        """
        principal = await self._principal(request)
        if principal is None:
            self._mistakes.take(self.client(request))
            text = "Show a token (Authorization: Bearer TOKEN), or log in on the page."
            raise Problem(401, "unauthorized", text, {"WWW-Authenticate": "Bearer"})
        if page and principal.csrf and request.method not in _SAFE:
            shown = request.headers.get(CSRF, "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(shown, principal.csrf.encode()):
                text = f"A page shows what GET /api/me calls csrf, in {CSRF}."
                raise Problem(403, "csrf", text)
        owner = principal.role is Role.OWNER
        if not self.seats.know(request.protocol, principal.by, owner=owner):
            text = "Too many connections are open; close some, or try again later."
            raise Problem(429, "busy", text, {"Retry-After": "2", "Connection": "close"})
        self._limited(self._requests, principal.name)
        self._requests.take(principal.name)
        request[_PRINCIPAL] = principal

    async def still(self, request: web.Request) -> bool:
        """Whether the caller is still authorized: their token may have been revoked or have
        expired.
        """
        principal = await self._principal(request)
        return principal is not None and principal.role is principal_of(request).role

    async def log_in(self, request: web.Request, shown: str) -> str:
        """The cookie in exchange for a link's secret or a token. Raises Problem."""
        if self.access.is_guessable(shown):
            self._limited(self._mistakes, self.client(request))
        cookie = await self.access.logged_in(shown) if len(shown) <= _MOST_CHARS else None
        if cookie is None:
            self._limited(self._mistakes, self.client(request))
            self._mistakes.take(self.client(request))
            text = "This opens nothing, or not any more: `nanobot dashboard` gives a new link."
            raise Problem(401, "unauthorized", text, {"WWW-Authenticate": "Bearer"})
        return cookie

    async def _principal(self, request: web.Request) -> Principal | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        cookie = _cookie(request, self.access.cookie)
        shown = token.strip() if scheme.lower() == "bearer" else "" if scheme else cookie
        if not 0 < len(shown) <= _MOST_CHARS:
            return None
        by = self.access.by_token if scheme else self.access.by_cookie
        if self.access.is_guessable(shown):
            self._limited(self._mistakes, self.client(request))
            return await by(shown)
        # Secrets that cannot be guessed are always checked, whatever other clients at this address
        # have sent.
        principal = await by(shown)
        if principal is None:
            self._limited(self._mistakes, self.client(request))
        return principal

    @staticmethod
    def _limited(rates: Rates, key: str) -> None:
        if seconds := rates.wait(key):
            text = f"Too often: try again in {seconds} s."
            raise Problem(429, "too_many_requests", text, {"Retry-After": str(seconds)})


def _cookie(request: web.Request, name: str) -> str:
    """The cookie's value. Two cookies of that name count as none: one was set by another server of
    this host, because all its ports share cookies.
    """
    pairs = request.headers.get("Cookie", "").split(";")
    named = [pair.strip().partition("=") for pair in pairs]
    values = [value.strip('"') for key, _, value in named if key == name]
    return values[0] if len(values) == 1 else ""
