"""The views that plugins add to the page, and the routes of their scripts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiohttp import web

from nanobot.errors import PluginBroken
from nanobot.seam.faces import PageView, PluginPage
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.server.application import Handler, Route
from nanobot.server.session_routes import owners_only, refusing
from nanobot.server.wire import QUIET
from nanobot.text import pattern

_NAME = pattern(r"[a-z][a-z0-9_]{0,63}")


def views_of_plugins(contributions: Contributions) -> tuple[list[PluginPage], list[Route]]:
    """The views as GET /api/me lists them, and the routes of their scripts."""
    shown: list[PluginPage] = []
    routes: list[Route] = []

    def use(found: FoundPlugin, given: Any) -> None:
        views = _checked(given)
        for view in views:
            path = f"/plugins/{found.name}/views/{view.name}.js"
            shown.append(
                PluginPage(
                    name=f"{found.name}-{view.name}",
                    title=view.title,
                    icon=view.icon,
                    script=path,
                    place=view.place,
                    needs=view.needs,
                )
            )
            script = _script(view.script, everyone=bool(view.needs))
            routes.append(Route(method="GET", path=path, handler=script, everyone=True, whole=True))

    contributions.each("page", use)
    return shown, routes


def _checked(given: Any) -> list[PageView]:
    views = list(given) if isinstance(given, Iterable) else [given]
    for view in views:
        if not isinstance(view, PageView):
            raise PluginBroken(
                f"it gives a {type(view).__name__}, not a nanobot.seam.faces.PageView"
            )
        if _NAME.fullmatch(view.name) is None or not view.title.strip():
            raise PluginBroken(f"a view has the name {view.name!r} and the title {view.title!r}")
    return views


def _script(text: str, *, everyone: bool) -> Handler:
    async def give(request: web.Request) -> web.StreamResponse:
        if not everyone:
            owners_only(request)
        headers = {**QUIET, "Cache-Control": "no-cache"}
        return web.Response(text=text, content_type="text/javascript", headers=headers)

    return refusing(give)
