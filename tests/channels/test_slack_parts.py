"""Slack takes whatever is rendered, shows all of it, and takes none of it for markup."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels._markdown import from_markdown, tables
from nanobot_channels._slack_parts import PLAIN_LIMIT, TEXT_LIMIT, content, mark_of
from nanobot_channels._slack_parts import render as render_message
from nanobot_channels._slack_text import mentions
from tests.channels.hostile import texts
from tests.doubles.slack_rules import check_message, shown_text

PIECES = [
    *"ab😀é*_`#> \n[](:/.)<@!U1|&-~x\\",
    "https://x.org/a",
    "[a](tg://b)",
    "```\n",
    "| a | b |\n",
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=200).map("".join) | texts(10, 100)


def render(text: str, **fields: Any) -> list[OutboundPart]:
    message = OutboundMessage(address=Address("slack", "C1"), text=text, key="run.0", **fields)
    return render_message(message)


def sections(part: OutboundPart) -> list[dict[str, Any]]:
    elements: list[dict[str, Any]] = msgspec.json.decode(part.payload)["blocks"][0]["elements"]
    return elements


def letters(text: str) -> str:
    return re.sub(r"\s+", "", text)


@given(MARKDOWN, st.integers(1, 40))
def test_whatever_is_rendered_is_accepted_and_pings_nobody(text: str, times: int) -> None:
    for part in render(text * times):
        assert part.text.strip()
        assert len(part.text) <= PLAIN_LIMIT
        for plain in (False, True):
            params = content(part, plain=plain)
            check_message(params)
            assert "<" not in params["text"]
            assert not mentions(params["text"], "U1")


@given(MARKDOWN, st.integers(1, 40))
def test_no_visible_text_is_lost(text: str, times: int) -> None:
    parts = render(text * times)
    older = [content(part, plain=False, with_tables=False)["blocks"] for part in parts]
    visible = letters(from_markdown(text * times).text)
    # In this order; targets that Slack takes for no link stand between.
    rest = iter(letters("".join(map(shown_text, older))))
    assert all(letter in rest for letter in visible)
    cells = [cell for table in tables(text * times) for row in table.rows for cell in row]
    rest = iter(letters("".join(shown_text(content(p, plain=False)["blocks"]) for p in parts)))
    assert all(letter in rest for cell in cells for letter in letters(cell.text))


@given(st.text(st.sampled_from("ab .\n"), max_size=400), st.integers(1, 60))
def test_plain_words_are_kept_letter_by_letter(text: str, times: int) -> None:
    parts = render(text * times)
    shown = "".join(shown_text(content(part, plain=False)["blocks"]) for part in parts)
    fallback = "".join(part.text for part in parts)
    expected = letters(text * times) or "(emptymessage)"
    assert letters(shown) == letters(fallback) == expected


def test_looks_become_styles_and_boxes() -> None:
    (part,) = render(
        "# Title\n\n**bold *both*** ~~gone~~ `code`\n\n> quoted\n\n```python\nx = 1\n```\n\nend"
    )
    assert sections(part) == [
        {
            "type": "rich_text_section",
            "elements": [
                {"type": "text", "text": "Title", "style": {"bold": True}},
                {"type": "text", "text": "\n\n"},
                {"type": "text", "text": "bold ", "style": {"bold": True}},
                {"type": "text", "text": "both", "style": {"bold": True, "italic": True}},
                {"type": "text", "text": " "},
                {"type": "text", "text": "gone", "style": {"strike": True}},
                {"type": "text", "text": " "},
                {"type": "text", "text": "code", "style": {"code": True}},
            ],
        },
        {"type": "rich_text_quote", "elements": [{"type": "text", "text": "quoted"}]},
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x = 1"}]},
        {"type": "rich_text_section", "elements": [{"type": "text", "text": "end"}]},
    ]


def test_a_table_is_an_aligned_block_and_a_list_has_bullets() -> None:
    (part,) = render("- one\n- two\n\n| a | bbb |\n|---|---|\n| 1 | 2 |")
    assert shown_text(content(part, plain=False)["blocks"]) == "• one\n• two\na | bbb\n1 | 2"
    older = content(part, plain=False, with_tables=False)["blocks"]
    assert shown_text(older) == "• one\n• two\na | bbb\n--+----\n1 | 2"
    assert older[0]["elements"][1]["type"] == "rich_text_preformatted"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see https://x.org/a?b=1, ok", [{"url": "https://x.org/a?b=1"}]),
        ("(https://x.org)", [{"url": "https://x.org"}]),
        ("`https://x.org`", []),
        ("[here](https://x.org)", [{"url": "https://x.org", "text": "here"}]),
        ("[write](mailto:a@x.org)", [{"url": "mailto:a@x.org", "text": "write"}]),
        ("[odd](tg://user?id=1)", []),
        ("https://" + "x" * 2500, []),
    ],
)
def test_addresses_become_links_where_slack_takes_them(
    text: str, links: list[dict[str, str]]
) -> None:
    (part,) = render(text)
    elements = [element for section in sections(part) for element in section["elements"]]
    assert [
        {key: element[key] for key in ("url", "text") if key in element}
        for element in elements
        if element["type"] == "link"
    ] == links


def test_a_target_that_slack_takes_for_no_link_is_written_out() -> None:
    (part,) = render("[odd](tg://user?id=1)")
    assert shown_text(content(part, plain=False)["blocks"]) == "odd (tg://user?id=1)"


def test_a_long_code_block_goes_on_in_the_next_part() -> None:
    code = "\n".join(f"line {n} = {n}" for n in range(500))
    parts = render(f"before\n\n```\n{code}\n```\n\nafter")
    assert len(parts) == 3
    boxes = [section for part in parts for section in sections(part)]
    kinds = [section["type"].removeprefix("rich_text_") for section in boxes]
    assert kinds == ["section", *["preformatted"] * 3, "section"]
    text = "\n".join(section["elements"][0]["text"] for section in boxes[1:-1])
    assert text == code
    assert all(len(part.text) <= TEXT_LIMIT for part in parts)


def test_a_message_of_nothing_still_has_a_part() -> None:
    assert [part.text for part in render(" \n\u200b")] == ["(empty message)"]


def test_every_part_has_a_key_and_a_mark_of_its_own() -> None:
    parts = render("word " * 1500)
    assert [part.key for part in parts] == ["run.0.0", "run.0.1", "run.0.2"]
    assert len({mark_of(part) for part in parts}) == 3


def test_buttons_are_on_the_last_part_and_stay_within_limits() -> None:
    choices = tuple(Choice(f"choice {n} " + "x" * 100, f"/pick {n}") for n in range(30))
    first, last = render("word " * 1000, choices=(*choices, Choice(" \n", "/last")))
    assert len(msgspec.json.decode(first.payload)["blocks"]) == 1
    params = content(last, plain=False)
    check_message(params)
    buttons = [button for block in params["blocks"][1:] for button in block["elements"]]
    assert [button["value"] for button in buttons] == [*(f"/pick {n}" for n in range(30)), "/last"]
    assert buttons[-1]["text"]["text"] == "/last"
