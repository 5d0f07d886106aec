"""What people are asked to agree to, over any text: nothing is hidden, and nothing is lost."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.plugins.common.views.shown_calls import spelled_lines
from nanobot.visible import blank, spelled

UNSEEN = {"Cf", "Cc", "Zl", "Zp", "Co", "Cs", "Cn", "Zs"}
BLANK = "\u034f\u115f\u1160\u17b4\u2800\u3164\uffa0"
NASTY = "\u202e\u2066\u200b\u200d\ufeff\u00ad\u00a0\u3000\ufe0f\U000e0041\r\x00\x1b" + BLANK
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=NASTY + "a<U+1> \u0301\u20dd\n", max_size=80),
    st.lists(st.sampled_from([" " * 60, "\n" * 9, "<3 spaces>", "<U+202E>", "x"])).map("".join),
)


@given(TEXTS)
def test_a_blank_text_shows_nothing(text: str) -> None:
    drawn = {"L", "M", "N", "P", "S"}
    seen = any(unicodedata.category(c)[0] in drawn and "<" not in spelled(c) for c in text)
    if blank(text):
        assert not re.sub(r"<[^>]*>|\s", "", spelled(text))
    assert not (seen and blank(text))


def unspelled(shown: str) -> str:
    """The text again."""
    shown = re.sub(r"<(\d+) spaces>", lambda m: " " * int(m[1]), shown)
    return re.sub(r"<U\+([0-9A-F]{4,6})>", lambda m: chr(int(m[1], 16)), shown)


@given(TEXTS)
@example("a\ufe0f")
@example("<U+202E>")
@example("\u0301")
def test_nothing_is_hidden_in_a_line_and_nothing_of_it_is_lost(text: str) -> None:
    shown = spelled(text)
    for at, char in enumerate(shown):
        look = char == "\ufe0f" and unicodedata.category(shown[at - 1]) == "So"
        hidden = unicodedata.category(char) in UNSEEN and char not in " \t"
        assert look or not (hidden or char in BLANK), hex(ord(char))
    marks = "".join("m" if unicodedata.category(c)[0] == "M" else "." for c in shown)
    assert "mmmm" not in marks
    assert " " * 41 not in shown
    assert unspelled(shown) == text


@given(TEXTS)
def test_many_empty_lines_push_nothing_out_of_sight(text: str) -> None:
    assert not re.search(r"\n{5,}", "\n".join(spelled_lines(text)))
