"""Markdown becomes parts that every platform takes and that lose nothing visible."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.common.text import (
    Rich,
    Span,
    Style,
    clean,
    file_name,
    is_boundary,
    label,
    split,
    utf16_units,
)
from tests.channels.hostile import texts

MARKDOWN = (
    st.text(st.sampled_from("abcxyz*_~`#>-+[]()|!\\<&; \n\t'\":/1.é日😀"), max_size=200)
    | st.lists(
        st.sampled_from(
            [
                *["**bold**", "_it_", "`code`", "~~gone~~", "#", "-", "1.", ">", "wörd.", "[", "]"],
                *["[t](https://x.org)", "![i](/i)", "(/p)", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "é", "한글"],
                *("\n```py\nx = 1\n```\n", "\n|a|b|\n|-|-|\n|c|d|e|\n", "\n\n", "\n", " "),
            ]
        ),
        max_size=60,
    ).map("".join)
    | texts(30, 400)
)


def letters(text: str) -> Counter[str]:
    return Counter(char for char in text if char.isalpha())


def styles(rich: Rich) -> list[tuple[Style, str, str]]:
    return [(span.style, rich.text[span.start : span.end], span.value) for span in rich.spans]


def check_parts(parts: list[Rich], limit: int, most: int) -> None:
    for part in parts:
        assert 0 < utf16_units(part.text) <= limit
        assert part.text.strip()
        assert len(part.spans) <= most
        assert [span.start for span in part.spans] == sorted(span.start for span in part.spans)
        for span in part.spans:
            assert 0 <= span.start < span.end <= len(part.text)


@given(MARKDOWN, st.integers(8, 60), st.integers(1, 5))
def test_parts_of_any_markdown_hold_the_limits_and_every_letter(
    source: str, limit: int, most: int
) -> None:
    rich = from_markdown(source)
    parts = split(rich, limit, measure=utf16_units, max_spans=most)
    check_parts(parts, limit, most)
    assert letters("".join(part.text for part in parts)) == letters(rich.text)


@given(MARKDOWN)
def test_no_letter_of_any_markdown_is_lost(source: str) -> None:
    rich = from_markdown(source)
    shown = letters(rich.text + "".join(span.value for span in rich.spans))
    # Named entities (&auml;) are letters that stand for another one, and only those.
    if "&" not in source:
        assert letters(clean(source)) <= shown


@given(st.text(), st.integers(2, 50))
def test_any_unicode_is_divided_between_the_characters_people_see(source: str, limit: int) -> None:
    text = clean(source)
    parts = split(Rich(text), limit, measure=utf16_units)
    check_parts(parts, limit, 0)
    visible = [c for c in text if not c.isspace() and unicodedata.category(c) != "Cf"]
    remaining = [
        c for p in parts for c in p.text if not c.isspace() and unicodedata.category(c) != "Cf"
    ]
    assert remaining == visible


@given(st.text(st.characters()) | st.text(st.characters(categories=["Cs", "Cc", "Lu"])))
def test_clean_text_can_be_sent_as_it_is(source: str) -> None:
    text = clean(source)
    text.encode()
    assert not any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in text)
    assert clean(text) == text


def test_plain_text_is_left_alone_without_a_parser() -> None:
    for text in ("Hello, world.", "2 + 2 = 4; R&D: 100 %", "zwei\n\nAbsätze", "snowman ☃"):
        assert from_markdown(text) == Rich(text)


def test_inline_styles_become_spans() -> None:
    rich = from_markdown("**b** *i* ~~s~~ `c` **_bi_**")
    assert rich.text == "b i s c bi"
    assert styles(rich) == [
        (Style.BOLD, "b", ""),
        (Style.ITALIC, "i", ""),
        (Style.STRIKE, "s", ""),
        (Style.CODE, "c", ""),
        (Style.ITALIC, "bi", ""),
        (Style.BOLD, "bi", ""),
    ]


@pytest.mark.parametrize(
    ("source", "text", "target"),
    [
        ("[site](https://x.org/a_b)", "site", "https://x.org/a_b"),
        ("<https://x.org>", "https://x.org", "https://x.org"),
        ("[me](mailto:me@x.org)", "me", "mailto:me@x.org"),
        ("![a cat](https://x.org/cat.png)", "a cat", "https://x.org/cat.png"),
        ("[](https://x.org)", "https://x.org", "https://x.org"),
    ],
)
def test_links_keep_their_target(source: str, text: str, target: str) -> None:
    rich = from_markdown(source)
    assert rich.text == text
    assert styles(rich) == [(Style.LINK, text, target)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[file](/etc/passwd)", "file (/etc/passwd)"),
        ("[a friend](tg://user?id=1)", "a friend (tg://user?id=1)"),
        ("[x](javascript:alert)", "[x](javascript:alert)"),
        ("[1]: https://x.org", "[1]: https://x.org"),
        ("see [a][1]", "see [a][1]"),
        ('[a](b "title")', 'a (b) "title"'),
        ("<b>bold</b>", "<b>bold</b>"),
    ],
)
def test_what_cannot_be_a_link_or_style_is_written_out(source: str, text: str) -> None:
    assert from_markdown(source) == Rich(text)


def test_blocks_are_laid_out_for_reading() -> None:
    rich = from_markdown("# Head\npara\n\n- a\n  - b\n- c\n\n3. x\n4. y\n\n---\n> said\n> so")
    assert rich.text == ("Head\n\npara\n\n• a\n  • b\n• c\n\n3. x\n4. y\n\n———\n\nsaid\nso")
    assert styles(rich) == [(Style.BOLD, "Head", ""), (Style.QUOTE, "said\nso", "")]


def test_code_keeps_its_language_and_its_indentation() -> None:
    rich = from_markdown("```py\n    x = 1\n\n    y = 2\n```")
    assert styles(rich) == [(Style.PRE, "    x = 1\n\n    y = 2", "py")]


def test_tables_are_aligned_in_a_monospaced_block() -> None:
    rich = from_markdown("|name|n|\n|-|-|\n|日本|1|\n|[x](https://x.org)|**22**|")
    assert rich.text.split("\n") == [
        "name               | n",
        "-------------------+---",
        "日本               | 1",
        "[x](https://x.org) | 22",
    ]
    assert [span.style for span in rich.spans] == [Style.PRE]


WIDE = "|Plan|Price|What it includes|Link|\n|-|-|-|-|\n"
WIDE += "|Free|0 €|One user, **no** support||\n|Team|12 €|Ten users|[more](https://x.org)|"


def test_a_table_too_wide_for_a_phone_becomes_a_list_for_each_row() -> None:
    rich = from_markdown(WIDE)
    assert rich.text == (
        "Plan: Free\n\n• Price: 0 €\n• What it includes: One user, no support\n\n"
        "Plan: Team\n\n• Price: 12 €\n• What it includes: Ten users\n• Link: more"
    )
    assert styles(rich) == [
        (Style.BOLD, "Plan: Free", ""),
        (Style.BOLD, "no", ""),
        (Style.BOLD, "Plan: Team", ""),
        (Style.LINK, "more", "https://x.org"),
    ]


@given(st.lists(st.lists(st.text("abc é*`", max_size=20), min_size=2, max_size=2), min_size=2))
def test_no_letter_of_any_table_is_lost(rows: list[list[str]]) -> None:
    lines = ["|" + "|".join(row) + "|" for row in rows]
    source = "\n".join([lines[0], "|-|-|", *lines[1:]])
    assert letters(source) <= letters(from_markdown(source).text)


def test_a_table_with_too_many_cells_is_shown_as_written() -> None:
    source = "|a|\n|-|\n|b|c|"
    assert styles(from_markdown(source)) == [(Style.PRE, source, "")]


def test_text_is_divided_at_paragraphs_then_lines_then_sentences_then_words() -> None:
    def texts(text: str, limit: int) -> list[str]:
        return [part.text for part in split(Rich(text), limit)]

    assert texts("one two.\n\nthree four", 14) == ["one two.", "three four"]
    assert texts("one two.\nthree four", 14) == ["one two.", "three four"]
    assert texts("one two. three four", 14) == ["one two.", "three four"]
    assert texts("one two three four", 14) == ["one two three", "four"]
    assert texts("onetwothreefour", 6) == ["onetwo", "threef", "our"]


def test_a_part_ends_before_a_link_and_not_within() -> None:
    rich = from_markdown("one two three [four five six](https://x.org) seven")
    parts = split(rich, 26)
    assert [part.text for part in parts] == ["one two three", "four five six seven"]
    assert [span.value for part in parts for span in part.spans] == ["https://x.org"]


@given(st.integers(12, 40), st.lists(st.sampled_from(["[ab cd](https://x.org)", "**e f**", "gh"])))
def test_no_short_span_is_cut(limit: int, words: list[str]) -> None:
    for part in split(from_markdown(" ".join(words)), limit):
        for style, text, _ in styles(part):
            assert text == ("ab cd" if style is Style.LINK else "e f")


def test_what_platforms_take_for_nothing_has_no_parts() -> None:
    assert split(Rich("\u2800\ufffc \u200b"), 10) == []


@given(st.text())
def test_names_are_one_harmless_line(text: str) -> None:
    for name in (label(text), file_name(text)):
        assert len(name) <= 64
        assert not re.search("[\n\t\0\u202a-\u202e\u2066-\u2069]", name)
    name = file_name(text)
    assert not re.search(r"[/\\:*?]|^\.", name)
    assert len(name.encode()) <= 240
    assert file_name(name) == name


def test_code_goes_on_as_code_in_the_next_part() -> None:
    rich = from_markdown("```py\nfirst()\n    second()\n```")
    parts = split(rich, 14)
    assert [styles(part) for part in parts] == [
        [(Style.PRE, "first()", "py")],
        [(Style.PRE, "    second()", "py")],
    ]


def test_what_people_see_as_one_character_stays_whole() -> None:
    for cluster in ("👩‍👩‍👧‍👦", "🇩🇪", "e\u0301", "👍🏽", "각", "❤️"):
        text = cluster * 3
        inside = [n for n in range(1, len(text)) if n % len(cluster)]
        assert not [n for n in inside if is_boundary(text, n)], cluster
        assert is_boundary(text, len(cluster)), cluster


def test_spans_beyond_the_most_move_to_the_next_part() -> None:
    spans = tuple(Span(n * 2, n * 2 + 1, Style.BOLD) for n in range(5))
    parts = split(Rich("a b c d e", spans), 100, max_spans=2)
    assert [part.text for part in parts] == ["a b", "c d", "e"]
    assert [len(part.spans) for part in parts] == [2, 2, 1]


def test_white_space_and_invisible_characters_have_no_parts() -> None:
    assert split(from_markdown(" \n\u200b\t"), 10) == []


def test_nesting_beyond_reason_stays_plain_text() -> None:
    source = ">" * 300 + " deep"
    assert from_markdown(source) == Rich(source)
