"""What Discord's clients show is what was written, in parts that Discord takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.common.text import clean, utf16_units
from nanobot_channels.discord.markdown import escaped
from nanobot_channels.discord.parts import (
    body,
    content_of,
    has_components,
    nonce_of,
    reference,
    render,
)
from tests.channels.hostile import texts
from tests.doubles.discord_client import Reader, Styled
from tests.doubles.discord_rules import (
    BUTTON,
    CONTAINER,
    IS_COMPONENTS_V2,
    SEPARATOR,
    TEXT,
    check_message,
    nested,
    text_of,
)
from tests.sampling import examples

HERE = Address("discord", "601")


def rendered(text: str, *, components: bool = True, **fields: Any) -> list[OutboundPart]:
    message = OutboundMessage(address=HERE, text=text, key="run", **fields)
    return render(message, components=components)


def shown_in(part: OutboundPart) -> list[Any]:
    return list(nested(body(part).get("components", [])))


def shown(text: str) -> Reader:
    (part,) = rendered(text)
    return Reader(content_of(part))


def visible(text: str) -> str:
    """Without what may be lost at the end of a part, and what only keeps marks apart."""
    return "".join(char for char in text if not char.isspace() and char != "\u200b")


@pytest.mark.parametrize(
    ("source", "style", "text", "value"),
    [
        ("**bold**", "bold", "bold", ""),
        ("# Head", "heading", "Head", ""),
        ("##### Small", "heading", "Small", ""),
        ("*it*", "italic", "it", ""),
        ("~~gone~~", "strike", "gone", ""),
        ("`x_y`", "code", "x_y", ""),
        ("`a || b`", "code", "a || b", ""),
        ("> said\n> so", "quote", "said\nso", ""),
        ("```py\nx = 1\n```", "pre", "x = 1", "py"),
        ("```\nword\nmore\n```", "pre", "word\nmore", ""),
        ("[a *b*](https://x.org/a_b_c)", "link", "a b", "https://x.org/a_b_c"),
        ("https://x.org/a_b_c*", "url", "https://x.org/a_b_c*", "https://x.org/a_b_c*"),
        ("![a cat](https://x.org/cat)", "link", "a cat", "https://x.org/cat"),
        ("|a|b|\n|-|-|\n|1|2|", "pre", "a | b\n--+--\n1 | 2", ""),
        ("1. a\n\n   |a|b|\n   |-|-|\n   |1|2|", "pre", "   a | b\n   --+--\n   1 | 2\n   ", ""),
        ("~~~~py\nx = `1`\n~~~~", "pre", "x = `1`", "py"),
        ("    *x*\n      y", "pre", "*x*\n  y", ""),
    ],
)
def test_styles_are_shown(source: str, style: str, text: str, value: str) -> None:
    assert Styled(style, text, value) in shown(source).styles


@pytest.mark.parametrize(
    "text",
    [
        "snake_case and call__init__now",
        "https://x.org/a__b__c||d||",
        "2 * 3 * 4",
        "a ~~ b || c ||",
        "a || b || c",
        "<b>no</b> 1 < 2 <:",
        "\\# no heading",
        "C:\\path\\_x_",
        "\\- no item",
        "\\[a\\](https://x.org)",
    ],
)
def test_what_has_no_style_is_shown_as_it_is(text: str) -> None:
    reader = shown(text)
    assert reader.text == from_markdown(text).text
    assert [style for style in reader.styles if style.style != "url"] == []


@pytest.mark.parametrize(
    "thing", ["<@1>", "<@!1>", "<@&2>", "<#2>", "<:name:3>", "<a:name:3>", "<t:4:R>", "</name:5>"]
)
@pytest.mark.parametrize("around", ["{}", "`{}`", "**{}**", "```\n{}\n```"])
def test_nothing_is_mentioned_or_put_in_the_place_of_words(thing: str, around: str) -> None:
    reader = shown(around.format(thing))
    assert visible(reader.text) == thing
    assert "mention" not in {style.style for style in reader.styles}


def test_a_link_that_pretends_to_be_another_is_shown_as_written() -> None:
    (content,) = [content_of(part) for part in rendered("[https://good.org](https://evil.org)")]
    assert content == "[https://good.org](https://evil.org)"


def test_a_link_is_never_torn() -> None:
    target = "https://x.org/" + "a" * 900
    parts = rendered(" ".join(f"[link{n}]({target})" for n in range(6)))
    links = [style for part in parts for style in Reader(content_of(part)).styles]
    assert [(style.style, style.text, style.value) for style in links] == [
        ("link", f"link{n}", target) for n in range(6)
    ]


def test_code_is_fenced_again_in_every_part() -> None:
    code = "\n".join(f"line_{n} = {n} * 2" for n in range(300))
    parts = rendered(f"Look:\n\n```py\n{code}\n```\n\nDone.")
    assert len(parts) > 1
    styles = [style for part in parts for style in Reader(content_of(part)).styles]
    assert {(style.style, style.value) for style in styles} == {("pre", "py")}
    assert "\n".join(style.text for style in styles) == code


def test_a_fence_inside_code_does_not_end_it() -> None:
    (styled,) = shown("````\n```\nx\n```\n````").styles
    assert styled.style == "pre"
    assert visible(styled.text) == "```x```"


def test_marks_side_by_side_stay_apart() -> None:
    reader = shown("**a**_b_ `c```` d ````")
    assert [(style.style, style.text) for style in reader.styles][:2] == [
        ("bold", "a"),
        ("italic", "b"),
    ]


def test_the_first_part_replies_and_the_last_has_the_buttons() -> None:
    choices = (Choice("Yes", "/yes 1"), Choice("No", "/no 1"))
    parts = rendered("word " * 1000, reply_to="77", choices=choices)
    assert [bool(reference(part)) for part in parts] == [True] + [False] * (len(parts) - 1)
    pressed = [
        [component for component in shown_in(part) if component["type"] == BUTTON] for part in parts
    ]
    assert [len(buttons) for buttons in pressed] == [0] * (len(parts) - 1) + [2]
    assert len({nonce_of(part) for part in parts}) == len(parts)


def test_what_content_shows_is_content() -> None:
    for text in ("hello", "x" * 2000, "- a\n- b", "```\na\n---\n```"):
        (part,) = rendered(text)
        assert body(part)["content"]


def test_a_question_is_in_a_box_with_its_buttons_and_what_takes_its_place_in_one_without() -> None:
    choices = (Choice("Approve", "/approve 3"), Choice("Deny", "/deny 3"), Choice("Other", "/x"))
    (part,) = rendered("May I?", choices=choices)
    (box,) = body(part)["components"]
    assert (box["type"], box["accent_color"]) == (CONTAINER, 0xF0B232)
    assert [component["type"] for component in box["components"]] == [TEXT, SEPARATOR, 1]
    assert [component["style"] for component in shown_in(part) if component["type"] == BUTTON] == [
        3,
        4,
        2,
    ]
    (settled,) = rendered("Ann approved it.", replaces="question")
    assert body(settled)["components"] == [
        {"type": CONTAINER, "components": [{"type": TEXT, "content": "Ann approved it."}]}
    ]


def test_a_table_is_in_a_box_between_its_text() -> None:
    (part,) = rendered("Before\n\n|a|b|\n|-|-|\n|1|2|\n\nafter")
    assert [component["type"] for component in body(part)["components"]] == [TEXT, CONTAINER, TEXT]
    assert "content" not in body(part)
    assert body(part)["flags"] == IS_COMPONENTS_V2


def test_more_tables_than_there_may_be_components_stay_in_one_text() -> None:
    (part,) = rendered("\n\n".join(f"{n}\n\n|a|b|\n|-|-|\n|1|2|" for n in range(20)))
    assert [component["type"] for component in body(part)["components"]] == [TEXT]


def test_a_long_answer_takes_half_as_many_messages() -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "word " * 50 for n in range(30))
    native, older = rendered(text), rendered(text, components=False)
    assert (len(native), len(older)) == (3, 5)
    shown = "".join(text_of(body(part)["components"]) for part in native)
    assert visible(shown) == visible(text)


def test_an_empty_message_says_so() -> None:
    assert [content_of(part) for part in rendered(" \n")] == ["(empty message)"]


LABELS = st.text(max_size=100)
SNIPPETS = (
    *("**", "*", "_", "~~", "`", "```", "```py\n", "\n", "\n\n", "> ", "- ", "1. ", "# ", "[", "]"),
    *("](https://x.org/a)", "](tg://x)", "https://x.org/a_b*c", "|a|b|\n|-|-|\n|1|2|\n", "||"),
    *("<@1>", "@everyone", "😀", "👩\u200d👩\u200d👧\u200d👦", "\\", " "),
    *("x" * 700, "日本語" * 300, "word " * 400),
)
MARKDOWN = st.one_of(
    st.lists(st.one_of(st.text(max_size=60), st.sampled_from(SNIPPETS)), max_size=25).map("".join),
    texts(100, 1_500),
)


@pytest.mark.process
@given(MARKDOWN, st.lists(st.tuples(LABELS, LABELS), max_size=30))
@example("`" * 2500, [])
@example("*" * 2500, [])
@example("e" + "\u0301" * 4000, [])
@example("> " + "a\n> " * 1500, [])
def test_parts_are_within_discords_limits_and_lose_nothing(
    text: str, choices: list[tuple[str, str]]
) -> None:
    given_choices = tuple(Choice(label, say) for label, say in choices)
    parts = rendered(text, choices=given_choices)
    assert parts
    for part in parts:
        for plain in (False, True):
            check_message(body(part, plain=plain), 0)
            limit = 4000 if has_components(part) else 2000
            assert utf16_units(content_of(part, plain=plain)) <= limit
    for part in rendered(text, components=False, choices=given_choices):
        for plain in (False, True):
            check_message(body(part, plain=plain), 0, native=False)
        assert part.text.strip()


def letters(text: str) -> list[str]:
    return [char for char in text if char.isalnum()]


@given(MARKDOWN)
def test_no_text_is_lost_between_the_parts(text: str) -> None:
    for components in (True, False):
        parts = rendered(text, components=components)
        rest = iter(letters("".join(content_of(part) for part in parts)))
        # A wide table is read row by row, so that its names come again and again.
        if "|-" not in text:
            assert all(letter in rest for letter in letters(from_markdown(text).text))


@given(st.text(st.characters(exclude_categories=["Cs"])).map(clean))
@example("- - x")
@example("# a\n## b\n-# c\n> d\n>>> e")
@example("[a](b)](c)")
@example("||a|b||")
@example("***a***b**")
@example("`a``b```c")
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    reader = Reader(escaped(text))
    assert reader.text == text
    assert not [style for style in reader.styles if style.style != "url"]


@given(st.text(alphabet="ab *_~`|[]()<>#-\\\n.:/@1", max_size=60))
def test_accidental_marks_are_shown_as_they_are(text: str) -> None:
    reader = Reader(escaped(text))
    assert reader.text == text
    assert not [style for style in reader.styles if style.style != "url"]


@settings(derandomize=True, max_examples=examples(300))
@given(st.lists(st.sampled_from(["**", "*", "_", "`", "[", "](", "> ", "# ", "a", "b ", "\n"])))
def test_what_is_written_is_what_is_shown(pieces: list[str]) -> None:
    text = "".join(pieces)
    shown = "".join(Reader(content_of(part)).text for part in rendered(text))
    assert letters(shown) == letters(from_markdown(text).text) or not letters(text)
