"""Discord's components, version 2, for content that Markdown cannot show.

https://docs.discord.com/developers/components/reference. Such a message has no content, and stays
one of its kind: the flag cannot be removed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from nanobot_channels.common.shapes import tables
from nanobot_channels.discord.buttons import Button, rows

IS_COMPONENTS_V2 = 1 << 15
TEXT_LIMIT = 4000
"""Characters of a message, in all of its components together."""

_MOST = 40
_ACTION_ROW, _TEXT, _SEPARATOR, _CONTAINER = 1, 10, 14, 17
_WAITING = 0xF0B232
"""The edge of a pending question: amber."""
# The format of the table writer: columns in a block of code, a line of dashes below the first row.
_TABLE = re.compile(r"^```\n[^\n]*\n-[-+]*\n.*?\n```$", re.MULTILINE | re.DOTALL)


def has_table(content: str) -> bool:
    """Whether it contains a table."""
    return _TABLE.search(content) is not None


def layout(content: str, buttons: Sequence[Button], *, boxed: bool) -> list[dict[str, Any]]:
    """The components of a message with that text and those buttons: in a box with a coloured edge
    if there are buttons, otherwise with its tables in boxes. At most 40.
    """
    if boxed:
        inside = [_text(content)]
        if buttons:
            inside += [{"type": _SEPARATOR, "divider": True, "spacing": 1}, *rows(buttons)]
        box: dict[str, Any] = {"type": _CONTAINER, "components": inside}
        return [box | ({"accent_color": _WAITING} if buttons else {})]
    shown = list(_with_tables(content))
    below = list(rows(buttons))
    if _count(shown) + _count(below) > _MOST:
        shown = [_text(content)]
    return [*shown, *below]


def text_of(components: object) -> str:
    """All text in a message's components, if they are of a known type."""
    return "\n".join(_texts(components))


def _with_tables(content: str) -> Iterator[dict[str, Any]]:
    at = 0
    for match in _TABLE.finditer(content):
        if content[at : match.start()].strip():
            yield _text(content[at : match.start()].strip("\n"))
        yield {"type": _CONTAINER, "components": [_text(match[0])]}
        at = match.end()
    if content[at:].strip():
        yield _text(content[at:].strip("\n"))


def _text(content: str) -> dict[str, Any]:
    return {"type": _TEXT, "content": content}


def _count(components: Sequence[dict[str, Any]]) -> int:
    return sum(1 + _count(component.get("components", ())) for component in components)


def _texts(components: object) -> Iterator[str]:
    for component in tables(components):
        if component.get("type") == _TEXT and isinstance(component.get("content"), str):
            yield component["content"]
        yield from _texts(component.get("components"))
