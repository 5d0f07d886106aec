"""The installed plugins as people see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from nanobot.seam.installed import installed
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.seam.offers import Contributions


class PluginView(msgspec.Struct, frozen=True, kw_only=True):
    """An installed plugin: its purpose, and whether it is on."""

    name: str
    summary: Sentence
    state: Literal["on", "off", "failed"]
    why: Sentence = ""
    """The reason why it is off, or its failure."""
    package: str = ""
    """Its distribution; "": it is built in."""
    brings: list[str] = []
    """The kinds of things that it adds."""


def views_of(here: Contributions) -> list[PluginView]:
    """The `views` of a gateway."""
    return views(here.off, here.failures)


def views(
    off: Mapping[str, Sentence], failures: Mapping[str, Mapping[str, str]]
) -> list[PluginView]:
    """Every plugin that is installed, with those that could not be loaded, by name. `off`: why
    those are that are; `failures`: which fields failed, and why."""
    plugins = installed()
    shown = [
        PluginView(
            name=name,
            summary=found.plugin.summary,
            package=found.package,
            state="failed" if failures.get(name) else "off" if name in off else "on",
            why="; ".join(f"{field}: {why}" for field, why in failures.get(name, {}).items())
            or off.get(name, ""),
            brings=found.plugin.brings(),
        )
        for name, found in plugins.found.items()
    ]
    shown += [
        PluginView(name=each.name, summary="", package=each.package, state="failed", why=each.why)
        for each in plugins.left_out
    ]
    return sorted(shown, key=lambda view: (view.package, view.name))
