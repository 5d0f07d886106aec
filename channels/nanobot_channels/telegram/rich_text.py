"""Rich messages that arrive, as Markdown and files (https://core.telegram.org/bots/api#richmessage).

Bots send them, and people forward them, answer them, and send them by inline bots. Blocks of an
unknown type are read by the names that the documented ones share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from nanobot_channels.common.shapes import listed, string, table, tables
from nanobot_channels.telegram.types import File, RichMessage

_MEDIA = ("animation", "audio", "document", "photo", "video", "voice_note")


def markdown_of(rich: RichMessage) -> str:
    """The words of a rich message. Files are left out, apart from their captions."""
    return "\n\n".join(_blocks(rich.blocks))


def files_in(rich: RichMessage) -> Iterator[tuple[str, File]]:
    """The files of a rich message with the names of their blocks; of a photo the largest size.
    A file without an id is left out.
    """
    yield from _files(rich.blocks)


def _files(blocks: object) -> Iterator[tuple[str, File]]:
    for block in tables(blocks):
        kind = string(block.get("type"))
        if kind in _MEDIA:
            found = block.get(kind)
            sizes = found if isinstance(found, list) else [found]
            try:
                yield kind, msgspec.convert(sizes[-1], File, strict=False)
            except (msgspec.ValidationError, IndexError):
                continue
        yield from _files(block.get("blocks"))
        for item in tables(block.get("items")):
            yield from _files(item.get("blocks"))


def _blocks(blocks: object) -> Iterator[str]:
    for block in tables(blocks):
        words = _block(block)
        if words.strip():
            yield words


def _block(block: dict[str, Any]) -> str:
    special = _SPECIAL.get(string(block.get("type")))
    return special(block) if special else _with_the_rest(block)


def _heading(block: dict[str, Any]) -> str:
    size = block.get("size")
    level = size if isinstance(size, int) and 1 <= size <= 6 else 1
    return f"{'#' * level} {_words(block.get('text'))}"


def _code(block: dict[str, Any]) -> str:
    return f"```{string(block.get('language'))}\n{_words(block.get('text'))}\n```"


def _list(block: dict[str, Any]) -> str:
    return "\n".join(map(_item, tables(block.get("items"))))


def _table(block: dict[str, Any]) -> str:
    rows = map(_row, listed(block.get("cells")))
    return "\n".join(filter(None, [*rows, _words(block.get("caption"))]))


def _map(block: dict[str, Any]) -> str:
    place = table(block.get("location"))
    point = f"[map: {place.get('latitude')}, {place.get('longitude')}]"
    return "\n".join(filter(None, [point, _caption(block.get("caption"))]))


def _quote(block: dict[str, Any]) -> str:
    return "\n".join(f"> {line}" for line in _with_the_rest(block).split("\n"))


def _with_the_rest(block: dict[str, Any]) -> str:
    """All the words of a block, each in its own lines."""
    buttons = [f"[button: {_words(button.get('text'))}]" for button in tables(block.get("buttons"))]
    words = [_words(block.get("summary")), _words(block.get("text")), *_blocks(block.get("blocks"))]
    words += [*buttons, _caption(block.get("caption")), _words(block.get("credit"))]
    return "\n".join(filter(None, words))


def _caption(caption: object) -> str:
    about = table(caption)
    words = (_words(about.get("text")), _words(about.get("credit")))
    return ", ".join(filter(None, words)) or _words(caption)


def _item(item: dict[str, Any]) -> str:
    label = string(item.get("label"))
    mark = label if label[:1].isalnum() else "-"
    if item.get("has_checkbox"):
        mark += " [x]" if item.get("is_checked") else " [ ]"
    inside = "\n".join(_blocks(item.get("blocks"))).replace("\n", "\n  ")
    return f"{mark} {inside}"


def _row(cells: object) -> str:
    words = [
        _words(cell.get("text")).replace("\n", " ").replace("|", "\\|") for cell in tables(cells)
    ]
    return f"| {' | '.join(words)} |" if words else ""


def _words(text: object) -> str:
    """A RichText: a string, several in a list, or an object that says how a text is shown."""
    if isinstance(text, str):
        return text
    if isinstance(text, list):
        return "".join(map(_words, text))
    if not isinstance(text, dict):
        return ""
    shown: dict[str, Any] = text
    kind, inner, url = (
        string(shown.get("type")),
        _words(shown.get("text")),
        string(shown.get("url")),
    )
    if kind == "mathematical_expression":
        return f"${string(shown.get('expression'))}$"
    if kind == "button":
        inner = f"[button: {_words(table(shown.get('button')).get('text'))}]"
    elif kind == "code":
        inner = f"`{inner}`"
    elif url and url != inner:
        inner = f"{inner} ({url})"
    return inner or string(shown.get("alternative_text"))


_SPECIAL: dict[str, Callable[[dict[str, Any]], str]] = {
    "heading": _heading,
    "pre": _code,
    "divider": lambda _: "---",
    "mathematical_expression": lambda block: f"$${string(block.get('expression'))}$$",
    "list": _list,
    "table": _table,
    "map": _map,
    "blockquote": _quote,
    "expandable_blockquote": _quote,
    "pullquote": _quote,
}
