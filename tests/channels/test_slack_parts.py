"""Slack takes whatever is rendered, as Markdown and in the older form, and none of it pings."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.slack import SlackChannel
from nanobot_channels.slack.parts import (
    MARKDOWN_LIMIT,
    contents,
    mark_of,
    markdown_pieces,
    payload_of,
    plain_content,
)
from nanobot_channels.slack.parts import render as render_message
from nanobot_channels.slack.text import mentions
from tests.channels.hostile import texts
from tests.doubles.slack_rules import OLD_BLOCKS, Refusal, Room, check_message, shown_text
from tests.doubles.slack_server import SlackServer

PIECES = [
    *"ab😀é*_`#> \n[](:/.)<@!U1|&-~x\\",
    "https://x.org/a",
    "[a](tg://b)",
    "```\n",
    "| a | b |\n",
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=200).map("".join) | texts(10, 100)
CHAT = Address("slack", "D1")
TABLE = "| Host | *State* |\n|---|--:|\n| nas | **ok** |\n| <!channel> | |"


def render(text: str, **fields: Any) -> list[OutboundPart]:
    message = OutboundMessage(address=Address("slack", "C1"), text=text, key="run.0", **fields)
    return render_message(message)


def markdown(part: OutboundPart) -> str:
    return payload_of(part).markdown


def letters(text: str) -> str:
    return re.sub(r"\s+", "", text)


@given(MARKDOWN, st.integers(1, 40))
def test_whatever_is_rendered_is_accepted_and_pings_nobody(text: str, times: int) -> None:
    for part in render(text * times):
        assert part.text.strip()
        (_, best), *_, (_, oldest) = contents(part)
        check_message(best, most=4_000)
        for params in (best, oldest, plain_content(part)):
            assert "<" not in params["text"]
            assert not mentions(params["text"], "U1")
        assert not re.search("<[@!#]", markdown(part))
        assert {block["type"] for block in oldest["blocks"]} == {"rich_text"}


@given(MARKDOWN, st.integers(1, 40))
def test_the_older_form_is_accepted_unless_it_is_too_long_in_all(text: str, times: int) -> None:
    for part in render(text * times):
        *_, (_, oldest) = contents(part)
        refusal = ""
        try:
            check_message(oldest, known=OLD_BLOCKS)
        except Refusal as refused:
            refusal = refused.error
        assert refusal in {"", "msg_blocks_too_long"}


@given(MARKDOWN, st.integers(1, 40))
def test_no_visible_text_is_lost(text: str, times: int) -> None:
    parts = render(text * times)
    visible = letters(from_markdown(text * times).text)
    for shown in (
        "".join(markdown(part).replace("&lt;", "<") for part in parts),
        "".join(part.text for part in parts),
    ):
        rest = iter(letters(shown))
        words = [letter for letter in visible if letter.isalnum()]
        assert all(letter in rest for letter in words)


@given(st.text(st.sampled_from("ab .\n"), max_size=400), st.integers(1, 60))
def test_plain_words_are_kept_letter_by_letter(text: str, times: int) -> None:
    parts = render(text * times)
    expected = letters(text * times) or "(emptymessage)"
    for form in (0, -1):
        shown = [shown_text(list(contents(part))[form][1]["blocks"]) for part in parts]
        assert letters("".join(shown)) == expected
    assert letters("".join(part.text for part in parts)) == expected


def test_markdown_is_sent_as_it_is_written() -> None:
    text = f"# Title\n\n**bold** ~~gone~~ `code` [site](https://x.org)\n\n{TABLE}\n\n- [x] done"
    (part,) = render(text)
    assert markdown(part) == text.replace("<!", "&lt;!")


def test_the_older_form_is_plain_words() -> None:
    (part,) = render(
        "# Title\n\n**bold *both*** ~~gone~~ `code` [site](https://x.org?a&b) & <@U1>\n\n"
        "```python\nx = 1\n```\n\n[odd](tg://user?id=1)"
    )
    *_, (_, oldest) = contents(part)
    assert shown_text(oldest["blocks"]) == part.text
    assert part.text == (
        "Title\n\nbold both gone code site (https://x.org?a&b) & <@U1>\n\n"
        "x = 1\n\nodd (tg://user?id=1)"
    )


@pytest.mark.parametrize("fence", ["```", "~~~~", "```python"])
def test_a_long_code_block_is_fenced_anew_in_each_part(fence: str) -> None:
    code = "\n".join(f"    line {n} = {n}" for n in range(1500))
    closing = fence.replace("python", "")
    pieces = markdown_pieces(f"before\n\n{fence}\n{code}\n{closing}\n\nafter")
    assert len(pieces) == 3
    assert all(len(piece) <= MARKDOWN_LIMIT for piece in pieces)
    inner = [piece.split(f"{fence}\n", 1)[1].rsplit(f"\n{closing}", 1)[0] for piece in pieces]
    assert "\n".join(inner) == code
    assert pieces[-1].endswith(f"{closing}\n\nafter")


def test_a_message_of_nothing_still_has_a_part() -> None:
    assert [part.text for part in render(" \n\u200b")] == ["(empty message)"]


def test_nine_thousand_characters_are_one_part() -> None:
    assert len(render("some words, and more. " * 400)) == 1


def test_every_part_has_a_key_and_a_mark_of_its_own() -> None:
    parts = render("word " * 6000)
    assert [part.key for part in parts] == ["run.0.0", "run.0.1", "run.0.2"]
    assert len({mark_of(part) for part in parts}) == 3


def test_buttons_are_on_the_last_part_and_stay_within_limits() -> None:
    choices = tuple(Choice(f"choice {n} " + "x" * 100, f"/pick {n}") for n in range(30))
    first, last = render("word " * 3000, choices=(*choices, Choice(" \n", "/last")))
    assert payload_of(first).blocks == []
    (_, params), *_ = contents(last)
    check_message(params)
    buttons = [button for block in params["blocks"][1:] for button in block["elements"]]
    assert [button["value"] for button in buttons] == [*(f"/pick {n}" for n in range(30)), "/last"]
    assert buttons[-1]["text"]["text"] == "/last"


def test_a_part_that_an_earlier_version_stored_is_sent_as_it_was_rendered() -> None:
    rich = {"type": "rich_text", "elements": []}
    payload = msgspec.json.encode({"blocks": [rich], "older": [rich]})
    (_, best), *_ = contents(OutboundPart(text="said", payload=payload, key="k"))
    assert best["blocks"] == [rich]


async def test_a_chat_that_takes_no_markdown_gets_the_older_form_after_one_try() -> None:
    async with SlackServer() as slack:
        slack.rooms["D2"] = Room()
        channel = SlackChannel("slack", (slack.bot_token, slack.app_token), slack.api_root)
        slack.blocks = OLD_BLOCKS
        (part,) = render(TABLE)
        for _ in range(2):
            await channel.send(CHAT, part)
        assert len(slack.calls_of("chat.postMessage")) == 3
        first, second = (shown_text(message["blocks"]) for message in slack.sent("D1"))
        assert first == second
        assert first.startswith("Host       | State")
        ts = await channel.send(CHAT, render("Soon.")[0])
        await channel.edit(CHAT, ts, part)
        assert shown_text(slack.sent("D1")[-1]["blocks"]) == first
        assert len(slack.calls) == 5
        slack.blocks |= {"markdown"}
        await channel.send(Address("slack", "D2"), part)
        assert shown_text(slack.sent("D2")[0]["blocks"]) == TABLE
        await channel.close()


async def test_a_message_that_is_too_long_in_all_says_nothing_of_its_chat() -> None:
    async with SlackServer() as slack:
        channel = SlackChannel("slack", (slack.bot_token, slack.app_token), slack.api_root)
        (part,) = render("hello")
        slack.fail("chat.postMessage", times=1, error="msg_blocks_too_long")
        await channel.send(CHAT, part)
        await channel.send(CHAT, part)
        kinds = [message["blocks"][0]["type"] for message in slack.sent("D1")]
        assert kinds == ["rich_text", "markdown"]
        await channel.close()
