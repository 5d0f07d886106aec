"""The places of the page, read from its modules and from the views of the built-in plugins: a view
that is added is in each check of all of them."""

from __future__ import annotations

import re
from importlib import import_module

from nanobot.plugins.common.faces import PageView
from nanobot.seam.entry_points import BUILT_IN
from nanobot.seam.given import listed
from nanobot.seam.plugin import Plugin, resolved
from tests.page.test_files import PAGE

_PLACES = ("menu", "health")
"""Where a view of a plugin is one of its own, and not a part of another."""


def _table(file: str, name: str) -> list[str]:
    """The keys of a table in a module of the page."""
    text = (PAGE / file).read_text("utf-8")
    table = re.search(rf"const {name} = {{\n(.*?)\n}};", text, re.DOTALL)
    assert table is not None, f"{file}: there is no {name}"
    return re.findall(r"^  (\w+): [\[{]", table[1], re.MULTILINE)


def _of_plugins() -> list[str]:
    found = []
    for name in BUILT_IN:
        plugin: Plugin = import_module(f"nanobot.plugins.{name}").PLUGIN
        views = listed(resolved(plugin.page)(), PageView) if plugin.page else []
        found += [
            view.name if view.whole else f"{name}-{view.name}"
            for view in views
            if view.place in _PLACES
        ]
    return found


def _steps() -> list[str]:
    text = (PAGE / "views" / "settings" / "start.js").read_text("utf-8")
    table = text.partition("const STEPS = [")[2].partition("\n];")[0]
    return re.findall(r'(?:^    |\{ )name: "(\w+)"', table, re.MULTILINE)


VIEWS = [*_table("app.js", "VIEWS"), *_of_plugins(), "runs/now"]
SETTINGS = [f"settings/{part}" for part in _table("views/settings.js", "PARTS")]
STEPS = [f"settings/start:{step}" for step in _steps()]
FURTHER = ["memory/USER.md", "memory/workspace:", *STEPS]
ALL = [*VIEWS, *SETTINGS, *FURTHER]
