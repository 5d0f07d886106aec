"""How a browser logs in, identifies itself, and logs out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from aiohttp import web

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import WEB, Role
from nanobot.operations.operation import Operation
from nanobot.plugins.common.http.access import BROWSER_SECONDS, Principal
from nanobot.plugins.common.http.admission import Admission, principal_of
from nanobot.plugins.common.http.descriptions import Done
from nanobot.plugins.common.http.frontend import Frontend, PluginPage
from nanobot.plugins.common.http.path_prefix import prefix_of
from nanobot.plugins.common.http.refusals import problem_of
from nanobot.plugins.common.http.requests import caller_of, sent
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.route_description import TYPED, RouteDescription, json_of
from nanobot.plugins.common.http.wire import answer, wanted
from nanobot.plugins.common.translation.results import in_language

_LIMIT = 4_096


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """The secret of a link, or a token."""

    secret: str


LOGIN = RouteDescription(
    method="post",
    path="/api/login",
    name="login",
    summary="Logs a browser in: sets its cookie.",
    takes=json_of(Login),
    answers=json_of(Done),
    refusals=(*TYPED, 401, 429, 503),
    open=True,
)
LOGOUT = RouteDescription(
    method="post",
    path="/api/logout",
    name="logout",
    summary="Logs the browser out.",
    answers=json_of(Done),
)


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """The logged-in person. A browser sends `csrf` as X-CSRF-Token with every change. `page`
    identifies the current files of the page: a page loaded from other files has to reload."""

    name: str
    person: str
    """Their name, "" if unknown."""
    role: Role
    session: str
    """Their conversation."""
    own: str
    """The prefix of other conversations that they may start, "" if they may not."""
    everything: bool
    """They see the conversations of others, too."""
    operations: dict[str, tuple[str, ...]]
    """The operations that they may call, each with the arguments that they may pass."""
    expires_at: float | None
    csrf: str
    page: str
    views: list[PluginPage] = []
    """The views that plugins add."""


def _cookie_path(request: web.Request) -> str:
    """The path prefixes for which the browser sends the cookie: other programs may share
    the host.
    """
    return prefix_of(request) or "/"


def _me(principal: Principal, frontend: Frontend, operations: Sequence[Operation]) -> Me:
    caller, role = caller_of(principal), principal.role
    allowed = {each.name: each.arguments_of(role) for each in operations if each.may(role)}
    return Me(
        name=principal.name,
        person=principal.person,
        role=role,
        session=caller.session_key,
        own=f"{WEB}:" if role is Role.OWNER else caller.own,
        everything=caller.sessions is None,
        operations={
            each.name: allowed[each.name]
            for each in operations
            if each.listed and each.name in allowed
        },
        expires_at=principal.expires_at,
        csrf=principal.csrf,
        page=frontend.version,
        views=[v for v in frontend.views if role is Role.OWNER or v.needs in allowed],
    )


def login_routes(
    admission: Admission, frontend: Frontend, operations: Sequence[Operation]
) -> list[Route]:
    """GET /api/me; and where browsers can log in, POST /api/login with `secret`, a link's or a
    token, and POST /api/logout."""
    cookie = admission.access.cookie

    async def log_in(request: web.Request) -> web.StreamResponse:
        try:
            secret = (await sent(request, _LIMIT)).get("secret")
            if not isinstance(secret, str):
                raise UsageError("`secret` is missing: that of a link, or a token")
        except NanobotError as error:
            raise problem_of(error) from None
        value = await admission.log_in(request, secret)
        response = answer(200, {"ok": True})
        response.set_cookie(
            cookie,
            value,
            max_age=int(BROWSER_SECONDS),
            httponly=True,
            samesite="Strict",
            path=_cookie_path(request),
            secure=admission.is_secure(request),
        )
        return response

    async def who(request: web.Request) -> web.StreamResponse:
        me = _me(principal_of(request), frontend, operations)
        return answer(200, in_language(me, Me, wanted(request)))

    async def log_out(request: web.Request) -> web.StreamResponse:
        await admission.access.logged_out(principal_of(request))
        response = answer(200, {"ok": True})
        path = _cookie_path(request)
        response.del_cookie(cookie, path=path, httponly=True, samesite="Strict")
        return response

    routes = [Route(method="GET", path="/api/me", handler=who)]
    if admission.access.credentials is not None:
        routes += [
            Route(method="POST", path=LOGIN.path, handler=log_in, open=True, described=LOGIN),
            Route(method="POST", path=LOGOUT.path, handler=log_out, described=LOGOUT),
        ]
    return routes
