"""The words of blocks, in the form of a message's text (https://docs.slack.dev/reference/block-kit/blocks).

A person's text repeats its blocks, except for tables; a bot's often does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nanobot_channels.common.shapes import listed, string, table, tables
from nanobot_channels.slack.text import escape

_TABLES = {"table", "data_table"}
# Parts of a line of rich text; others, such as its paragraphs and the items of a list, are lines.
_WITHIN_LINE = {
    "text",
    "link",
    "emoji",
    "user",
    "usergroup",
    "channel",
    "broadcast",
    "date",
    "color",
}
_NAMED = {
    "user": ("<@", "user_id", ">"),
    "channel": ("<#", "channel_id", ">"),
    "usergroup": ("<!subteam^", "usergroup_id", ">"),
    "broadcast": ("<!", "range", ">"),
    "emoji": (":", "name", ":"),
}
_KEYS = ("title", "text", "caption", "fields", "elements", "rows", "blocks", "label", "alt_text")


def words_of(blocks: object) -> str:
    """All that is written in blocks; "" if there are none, or for a nest that Slack cannot make."""
    try:
        return "\n".join(filter(None, map(_words, tables(blocks))))
    except RecursionError:
        return ""


def tables_in(blocks: object) -> str:
    """The tables among the blocks, in Markdown."""
    return words_of([block for block in tables(blocks) if _kind(block) in _TABLES])


def _kind(block: dict[str, Any]) -> str:
    return string(block.get("type"))


def _words(block: dict[str, Any]) -> str:
    kind = _kind(block)
    if kind in _TABLES:
        caption = escape(string(block.get("caption")))
        return "\n".join(filter(None, [caption, *map(_row, listed(block.get("rows")))]))
    if kind in _WITHIN_LINE:
        return _inline(block)
    if kind in {"mrkdwn", "markdown"}:
        return string(block.get("text"))
    return "".join(_joined(block)).strip("\n")


def _joined(block: dict[str, Any]) -> Iterator[str]:
    """The words under the names that blocks share, each on its own line where it is no part of
    one.
    """
    for key in _KEYS:
        inner = block.get(key)
        if isinstance(inner, str):
            yield f"\n{escape(inner)}"
        for item in [inner] if isinstance(inner, dict) else tables(inner):
            within = _kind(item) in _WITHIN_LINE
            yield _words(item) if within else f"\n{_words(item)}"


def _inline(item: dict[str, Any]) -> str:
    kind, text = _kind(item), escape(string(item.get("text")))
    if kind == "link":
        url = escape(string(item.get("url")))
        return f"<{url}|{text}>" if text else f"<{url}>"
    if kind in _NAMED:
        before, key, after = _NAMED[kind]
        return f"{before}{escape(string(item.get(key)))}{after}"
    return text or escape(string(item.get("fallback")) or string(item.get("value")))


def _row(cells: object) -> str:
    return f"| {' | '.join(map(_cell, tables(cells)))} |"


def _cell(cell: dict[str, Any]) -> str:
    value = cell.get("value")
    number = str(value) if isinstance(value, int | float) else ""
    words = escape(string(cell.get("text"))) or _words(table(cell) | {"text": None}) or number
    return " ".join(words.split()).replace("|", "\\|")
