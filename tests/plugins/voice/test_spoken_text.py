"""Of an answer its words are spoken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.voice.spoken_text import spoken


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is **noon**.", "It is noon."),
        ("# Plan\n\n1. *Sow*\n2. Reap!", "Plan.\nSow.\nReap!"),
        ("Use `ls`:\n\n```sh\nls -la\n```\n\nThen look.", "Use ls:\nThen look."),
        ("See [the page](https://example.org/a/b).", "See the page."),
        ("See https://www.example.org/a?b=c now", "See example.org now."),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b,\n1, 2,"),
        ("one\ntwo", "one two."),
        ("![a cat](cat.png)", ""),
        ("```\nonly code\n```", ""),
        ("", ""),
    ],
)
def test_marks_code_and_addresses_are_left_out(text: str, words: str) -> None:
    assert spoken(text) == words


@given(st.text(max_size=300))
def test_any_text_can_be_spoken(text: str) -> None:
    assert isinstance(spoken(text), str)
