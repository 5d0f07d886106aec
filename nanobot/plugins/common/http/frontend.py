"""The page that is served, as the HTTP API tells browsers of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot.plugins.common.faces import Place
from nanobot.text import Sentence


class PluginPage(msgspec.Struct, frozen=True, kw_only=True):
    """A view that a plugin adds to the page."""

    name: str
    title: Sentence
    icon: str
    script: str
    """The path of its module."""
    style: str = ""
    """That of its stylesheet; "": it has none."""
    texts: dict[str, str] = {}
    place: Place = "menu"
    """Where it is shown."""
    needs: str = ""
    """The operation that a person must be allowed to use (empty: it is for owners)."""
    order: int = 100
    """Its place in the menu."""


class Frontend:
    """What GET /api/me says of the page that a plugin serves: the version of its files, and the
    views that plugins add. It is empty while none is served."""

    version: str = ""
    views: Sequence[PluginPage] = ()
