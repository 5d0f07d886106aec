"""The views that plugins add to the page, and their scripts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from nanobot.errors import PluginBroken
from nanobot.plugins.common.faces import PageView
from nanobot.plugins.common.http.frontend import PluginPage
from nanobot.plugins.common.http.refusals import refusing
from nanobot.plugins.common.http.requests import owners_only
from nanobot.plugins.common.http.route import Handler, Route
from nanobot.plugins.common.http.wire import QUIET
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.text import pattern
from nanobot.texts import LANGUAGES

_NAME = pattern(r"[a-z][a-z0-9_]{0,63}")


class Views(msgspec.Struct):
    """The views as GET /api/me lists them, whose files in folders are below `plugins/` among the
    files of the page; the routes of single scripts; and the folders, by the names of plugins."""

    shown: list[PluginPage]
    routes: list[Route]
    folders: dict[str, Path]

    def below(self, files: str) -> list[PluginPage]:
        """The views, where the files of the page are at that path."""
        return [
            each
            if each.script.startswith("/")
            else msgspec.structs.replace(
                each,
                script=f"{files}/{each.script}",
                style=each.style and f"{files}/{each.style}",
                texts={language: f"{files}/{path}" for language, path in each.texts.items()},
            )
            for each in self.shown
        ]


def views_of_plugins(contributions: Contributions) -> Views:
    """The views of all plugins that are on."""
    views = Views([], [], {})

    def use(found: FoundPlugin, given: Any) -> None:
        new = _checked(found, given)
        for view in new:
            script = f"/plugins/{found.name}/views/{view.name}.js"
            style, texts = "", dict[str, str]()
            if view.folder is not None:
                views.folders[found.name] = view.folder
                below = f"plugins/{found.name}"
                script = f"{below}/{view.name}.js"
                style = f"{below}/{view.name}.css" if _is_there(view, f"{view.name}.css") else ""
                texts = {
                    language: f"{below}/{language}.js"
                    for language in LANGUAGES
                    if _is_there(view, f"{language}.js")
                }
            else:
                views.routes.append(_route(script, view))
            views.shown.append(
                PluginPage(
                    style=style,
                    texts=texts,
                    name=view.name if view.whole else f"{found.name}-{view.name}",
                    title=view.title,
                    icon=view.icon,
                    script=script,
                    place=view.place,
                    order=view.order,
                    needs=view.needs,
                )
            )

    contributions.each("page", use)
    return views


def _checked(found: FoundPlugin, given: Any) -> list[PageView]:
    views = list(given) if isinstance(given, Iterable) else [given]
    for view in views:
        if not isinstance(view, PageView):
            raise PluginBroken(
                f"it gives a {type(view).__name__}, not a nanobot.seam.faces.PageView"
            )
        if _NAME.fullmatch(view.name) is None or not view.title.strip():
            raise PluginBroken(f"a view has the name {view.name!r} and the title {view.title!r}")
        if view.whole and found.package:
            raise PluginBroken(f"the view {view.name!r} must have the plugin's prefix")
        _check_script(view)
    if len({view.folder for view in views if view.folder is not None}) > 1:
        raise PluginBroken("its views have several folders: put their modules into one")
    return views


def _check_script(view: PageView) -> None:
    """Raises PluginBroken for a view that cannot be loaded."""
    if bool(view.script) == (view.folder is not None):
        raise PluginBroken(f"the view {view.name!r} has a script, or a folder")
    if view.name in LANGUAGES:
        raise PluginBroken(
            f"{view.name}.js contains the texts of its views: a view needs another name"
        )
    if view.folder is not None and not _is_there(view, f"{view.name}.js"):
        raise PluginBroken(f"there is no {view.folder / view.name}.js")


def _is_there(view: PageView, file: str) -> bool:
    return view.folder is not None and (view.folder / file).is_file()


def _route(path: str, view: PageView) -> Route:
    script = _script(view.script, everyone=bool(view.needs))
    return Route(method="GET", path=path, handler=script, everyone=True, whole=True)


def _script(text: str, *, everyone: bool) -> Handler:
    async def give(request: web.Request) -> web.StreamResponse:
        if not everyone:
            owners_only(request)
        headers = {**QUIET, "Cache-Control": "no-cache"}
        return web.Response(text=text, content_type="text/javascript", headers=headers)

    return refusing(give)
