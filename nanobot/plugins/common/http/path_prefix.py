"""The path prefix that a reverse proxy adds to the gateway's paths, as in /assistant/api/me."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from nanobot.plugins.common.http.settings import PATH_PREFIX

_PREFIX = web.RequestKey("prefix", str)


def prefix_of(request: web.Request) -> str:
    """The prefix under which the client made this request, without a trailing /; "" if none."""
    prefix: str = request.get(_PREFIX, "")
    return prefix


def own_path(request: web.Request) -> str:
    """The path of the request without the prefix, whether or not a proxy removed it."""
    prefix = prefix_of(request)
    if prefix and request.path.startswith(f"{prefix}/"):
        return request.path.removeprefix(prefix)
    return request.path


def note_prefix(request: web.Request, configured: str, *, trusted: bool) -> None:
    """Record the request's prefix. If the proxy leaves the `configured` prefix in the path, it is
    found there. A proxy that is `trusted` may have removed it: then X-Forwarded-Prefix names it,
    and without that header it is the configured one.
    """
    path, prefix = request.path, ""
    if configured and (path == configured or path.startswith(f"{configured}/")):
        prefix = configured
    elif trusted:
        prefix = _forwarded(request.headers) or configured
    request[_PREFIX] = prefix


def _forwarded(headers: Mapping[str, str]) -> str:
    """The value of X-Forwarded-Prefix; "" if it could lead to another place."""
    told = headers.get("X-Forwarded-Prefix", "").strip().rstrip("/")
    return told if PATH_PREFIX.fullmatch(told) else ""
