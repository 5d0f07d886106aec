"""Whether a person asked to follow a link."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nanobot.plugins.common.typed import Said
from nanobot.session.entries import ToolResultEntry
from nanobot.text import pattern

_WEB = ("web_fetch", "web_search")
_FOLLOW = pattern(
    r"\b(link|links|open|follow|click|next page|page|seite|lien|enlace)\b"
    r"|链接|鏈接|打开|打開|リンク",
    re.IGNORECASE,
)


def is_typed(arguments: Mapping[str, Any], said: Said) -> bool:
    """One link of a page that was read, as the run's first fetch: the choice of link reveals no
    more than the person's own choice.
    """
    url = str(arguments.get("url", ""))
    if not url or not said.means(_FOLLOW):
        return False
    results = [
        entry
        for entry in said.entries
        if isinstance(entry.body, ToolResultEntry) and entry.body.name in _WEB
    ]
    if any(entry.run_id == said.run_id for entry in results):
        return False
    link = re.compile(rf"(?<![^\s<>()\[\]\"']){re.escape(url)}(?![^\s<>()\[\]\"'])")
    return any(link.search(getattr(entry.body, "text", "")) for entry in results)
