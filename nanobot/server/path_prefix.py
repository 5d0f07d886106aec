"""The path that a reverse proxy puts before the paths of the gateway, as in /assistant/api/me."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from nanobot.config.settings.channels import PATH_PREFIX

_PREFIX = web.RequestKey("prefix", str)


def prefix_of(request: web.Request) -> str:
    """The prefix under which the client made this request, without a / at its end; "" if none."""
    prefix: str = request.get(_PREFIX, "")
    return prefix


def own_path(request: web.Request) -> str:
    """The path of the request without the prefix, whether a proxy removed that or not."""
    prefix = prefix_of(request)
    if prefix and request.path.startswith(f"{prefix}/"):
        return request.path.removeprefix(prefix)
    return request.path


def note_prefix(request: web.Request, configured: str, *, trusted: bool) -> None:
    """Keep the request's prefix. It is in the path, where the proxy leaves the `configured` one
    there. A proxy that is `trusted` may have removed it: its X-Forwarded-Prefix says which one,
    and without that header it is the configured one."""
    path, prefix = request.path, ""
    if configured and (path == configured or path.startswith(f"{configured}/")):
        prefix = configured
    elif trusted:
        prefix = _forwarded(request.headers) or configured
    request[_PREFIX] = prefix


def _forwarded(headers: Mapping[str, str]) -> str:
    """What X-Forwarded-Prefix says; "" where that could lead to another place."""
    told = headers.get("X-Forwarded-Prefix", "").strip().rstrip("/")
    return told if PATH_PREFIX.fullmatch(told) else ""
