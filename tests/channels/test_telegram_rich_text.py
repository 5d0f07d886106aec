"""Rich messages that arrive on Telegram: every word and every file of them is read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_channels.telegram.rich_text import files_in, markdown_of
from nanobot_channels.telegram.types import RichMessage

FILE = {"file_id": "F"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "text", "blocks", "items", "cells", "caption", "photo"]),
            inner | st.sampled_from(["list", "table", "photo", "pre", "heading", "map"]),
            max_size=5,
        )
    ),
    max_leaves=25,
)


@pytest.mark.parametrize(
    ("block", "markdown"),
    [
        ({"type": "paragraph", "text": ["a ", {"type": "bold", "text": "b"}]}, "a b"),
        ({"type": "heading", "size": 3, "text": "Plan"}, "### Plan"),
        ({"type": "pre", "language": "py", "text": "x = 1"}, "```py\nx = 1\n```"),
        ({"type": "divider"}, "---"),
        ({"type": "mathematical_expression", "expression": "x^2"}, "$$x^2$$"),
        (
            {
                "type": "list",
                "items": [
                    {"label": "1.", "blocks": [{"type": "paragraph", "text": "one"}]},
                    {
                        "label": "•",
                        "has_checkbox": True,
                        "is_checked": True,
                        "blocks": [{"type": "paragraph", "text": "two"}, {"type": "divider"}],
                    },
                ],
            },
            "1. one\n- [x] two\n  ---",
        ),
        (
            {
                "type": "table",
                "cells": [[{"text": "a|b"}, {}], [{"text": {"type": "code", "text": "c"}}]],
                "caption": "all",
            },
            "| a\\|b |  |\n| `c` |\nall",
        ),
        (
            {
                "type": "blockquote",
                "blocks": [{"type": "paragraph", "text": "a\nb"}],
                "credit": "me",
            },
            "> a\n> b\n> me",
        ),
        (
            {
                "type": "details",
                "summary": "More",
                "blocks": [{"type": "paragraph", "text": "inside"}],
            },
            "More\ninside",
        ),
        (
            {
                "type": "map",
                "location": {"latitude": 1.5, "longitude": 2},
                "caption": {"text": "h"},
            },
            "[map: 1.5, 2]\nh",
        ),
        ({"type": "buttons", "buttons": [{"text": "Go", "url": "https://x.y"}]}, "[button: Go]"),
        ({"type": "photo", "photo": [FILE], "caption": {"text": "c", "credit": "d"}}, "c, d"),
        ({"type": "hologram", "text": "new", "blocks": [{"text": "inner"}]}, "new\ninner"),
        (
            {"type": "paragraph", "text": {"type": "url", "text": "here", "url": "https://x.y"}},
            "here (https://x.y)",
        ),
        (
            {"type": "paragraph", "text": {"type": "custom_emoji", "alternative_text": "😀"}},
            "😀",
        ),
    ],
    ids=str,
)
def test_a_block_is_markdown(block: dict[str, Any], markdown: str) -> None:
    assert markdown_of(RichMessage([block])) == markdown


def test_files_of_all_blocks_are_found_also_of_nested_ones() -> None:
    voice = {"type": "voice_note", "voice_note": FILE | {"file_id": "V"}}
    photo = {"type": "photo", "photo": [FILE, FILE | {"file_id": "L"}]}
    inside = {"type": "list", "items": [{"label": "-", "blocks": [voice]}]}
    slides = {"type": "slideshow", "blocks": [photo, {"type": "video", "video": {}}]}
    found = [(kind, file.file_id) for kind, file in files_in(RichMessage([inside, slides]))]
    assert found == [("voice_note", "V"), ("photo", "L")]


@given(JSON)
def test_whatever_the_blocks_are_they_are_read(blocks: Any) -> None:
    rich = RichMessage(blocks)
    assert isinstance(markdown_of(rich), str)
    list(files_in(rich))


class _Writer:
    """Writes documented blocks in any nesting, and remembers the words in them."""

    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.draw
        self.words: list[str] = []

    def word(self) -> str:
        self.words.append(f"word{len(self.words)}.")
        return self.words[-1]

    def text(self, depth: int = 2) -> Any:
        kinds = ["", "", "list", "bold", "url", "code", "button", "mention"]
        kind = self._draw(st.sampled_from(kinds))
        if not kind or depth == 0:
            return self.word()
        if kind == "list":
            return [self.text(depth - 1), {"type": "anchor", "name": "x"}, self.text(depth - 1)]
        if kind == "button":
            return {"type": kind, "button": {"text": self.word()}}
        return {"type": kind, "text": self.text(depth - 1), "url": "https://example.org"}

    def block(self, depth: int) -> Any:
        simple = ["paragraph", "heading", "pre", "footer", "expandable_blockquote", "new"]
        deep = ["list", "table", "blockquote", "details", "collage", "buttons"]
        kind = self._draw(st.sampled_from(simple + (deep if depth else [])))
        if kind in simple:
            return {"type": kind, "text": self.text(), "size": 2}
        made: dict[str, Any] = {"type": kind}
        if kind == "list":
            made["items"] = [{"label": "•", "blocks": [self.block(depth - 1)]} for _ in range(2)]
        elif kind == "table":
            made["cells"] = [[{"text": self.text()}, {}], [{"text": self.text()}]]
        elif kind == "buttons":
            made["buttons"] = [{"text": self.text()}]
        else:
            made |= {"summary": self.text(), "blocks": [self.block(depth - 1) for _ in range(2)]}
            made["caption"] = {"text": self.text(), "credit": self.text()}
        return made


@given(st.data())
def test_no_word_of_a_rich_message_is_lost_and_they_keep_their_order(data: st.DataObject) -> None:
    writer = _Writer(data)
    blocks = [writer.block(3) for _ in range(data.draw(st.integers(1, 3)))]
    markdown = markdown_of(RichMessage(blocks))
    assert re.findall(r"word\d+\.", markdown) == writer.words
