"""The link that opens the page."""

from __future__ import annotations

import msgspec


class PageLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that opens the page once, for `seconds`; the first browser that opens it is logged
    in."""

    url: str
    seconds: float
