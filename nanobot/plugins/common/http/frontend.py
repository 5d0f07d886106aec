"""The page that is served, as the HTTP API tells browsers of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot.seam.faces import Place
from nanobot.text import Sentence


class PluginPage(msgspec.Struct, frozen=True, kw_only=True):
    """A view that a plugin adds to the page; `script` is the path of its module, `style` that of
    its stylesheet ("": it has none), `texts` those of the modules with its texts, by language.
    `place`: where it is shown; `order`: its place in the menu; `needs`: the operation that a person
    must be allowed to use (empty: it is for owners)."""

    name: str
    title: Sentence
    icon: str
    script: str
    style: str = ""
    texts: dict[str, str] = {}
    place: Place = "menu"
    needs: str = ""
    order: int = 100


class Frontend:
    """What GET /api/me says of the page that a plugin serves: the version of its files, and the
    views that plugins add. It is empty while none is served."""

    version: str = ""
    views: Sequence[PluginPage] = ()
