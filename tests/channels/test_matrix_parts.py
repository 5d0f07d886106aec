"""Markdown as events: HTML that Matrix allows, in parts that homeservers take."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.messages import Address, Choice, OutboundKind, OutboundMessage
from nanobot_channels.matrix.parts import LIMIT, Payload, content, render, replacement
from tests.channels.hostile import texts
from tests.doubles.matrix_rooms import oversized
from tests.sampling import examples

CHAT = Address("matrix", "!r:loopback")
PAGE = Path(__file__).parents[2] / "docs" / "channels" / "matrix.md"
# The tags that clients show (client-server API, m.room.message msgtypes).
TAGS = """del h1 h2 h3 h4 h5 h6 blockquote p a ul ol sup sub li b i u strong em s code hr br div
table thead tbody tr th td caption pre span img details summary"""
_TAG = re.compile(r"</?([a-z0-9]+)((?: [a-z-]+=\"[^\"]*\")*) ?/?>")


def message(text: str, **fields: object) -> OutboundMessage:
    return msgspec.structs.replace(OutboundMessage(address=CHAT, text=text, key="k"), **fields)


def html(text: str) -> str:
    (part,) = render(message(text))
    return msgspec.json.decode(part.payload, type=Payload).html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", ""),
        ("two\nlines", ""),
        ("two\n\nparagraphs", ""),
        ("*a* **b** ~~c~~ `d`", "<p><em>a</em> <strong>b</strong> <s>c</s> <code>d</code></p>"),
        ("a\n**b**", "<p>a<br />\n<strong>b</strong></p>"),
        ("# H", "<h1>H</h1>"),
        ("1. x\n2. y", "<ol>\n<li>x</li>\n<li>y</li>\n</ol>"),
        ("3. x", '<ol start="3">\n<li>x</li>\n</ol>'),
        ("> q", "<blockquote>\n<p>q</p>\n</blockquote>"),
        ("```py\nx<1\n```", '<pre><code class="language-py">x&lt;1\n</code></pre>'),
        ('[a](https://x.org "t")', '<p><a href="https://x.org">a</a></p>'),
        ("[a](javascript:x)", ""),
        ("![a](https://x.org/p.png)", '<p><a href="https://x.org/p.png">a</a></p>'),
        ("![a](data:x)", ""),
        ("<b>no</b> **y**", "<p>&lt;b&gt;no&lt;/b&gt; <strong>y</strong></p>"),
        ("[1]: https://x.org", ""),
        (r"\*no\*", "<p>*no*</p>"),
        ("&lt;", "<p>&lt;</p>"),
        ("---", "<hr />"),
    ],
)
def test_markdown_becomes_the_html_that_matrix_allows(text: str, shown: str) -> None:
    assert html(text) == shown


def test_the_text_is_the_markdown_itself() -> None:
    (part,) = render(message("**a**\n\n- b"))
    assert part.text == "**a**\n\n- b"


def test_a_word_from_the_gateway_is_a_notice() -> None:
    (part,) = render(message("busy", kind=OutboundKind.NOTICE))
    assert content(CHAT, part, plain=False)["msgtype"] == "m.notice"


def test_choices_are_written_out() -> None:
    (part,) = render(message("May I?", choices=(Choice("Yes", "/approve 1"),)))
    assert part.text == "May I?\n\n- Yes: `/approve 1`"


def test_a_text_of_nothing_but_marks_is_sent_as_it_is_written() -> None:
    assert html("*a*\n" * 5_001) == ""
    assert html("*a*\n" * 100).startswith("<p><em>a</em>")


def test_a_long_block_of_code_stays_code() -> None:
    parts = render(message("```py\n" + "print('x')\n" * 6_000 + "```"))
    assert len(parts) > 1
    assert all(part.text.startswith("```py\n") and part.text.endswith("\n```") for part in parts)
    assert sum(part.text.count("print('x')") for part in parts) == 6_000


def test_a_fence_that_is_never_closed_loses_nothing() -> None:
    parts = render(message("~~~~\n" + "x\n" * 40_000))
    assert sum(part.text.count("x") for part in parts) == 40_000


_MARKS = ["*", "**", "`", "```\n", "\n", "\n\n", "- ", "> ", "|", "a|b\n-|-\nc|d\n", "[x](", ")"]
_WORDS = ["<b>", "word ", "\\", '"' * 50, "&" * 40, "1. ", "    ", "http://x.org ", "\t", "#"]
_PIECES = st.sampled_from([*_MARKS, *_WORDS, "\U0001f600" * 30])


@pytest.mark.process
@settings(max_examples=examples(60))
@given(st.lists(_PIECES, max_size=20) | texts(50, 1_000).map(list), st.sampled_from([1, 1, 1, 100]))
def test_whatever_is_written_fits_and_is_allowed(pieces: list[str], times: int) -> None:
    text = "".join(pieces) * times
    parts = render(message(text))
    assert parts
    assert all(part.text.strip() for part in parts)
    sent = sorted("".join("".join(part.text.split()) for part in parts))
    source = sorted("".join(text.split()))
    if source:  # code that goes on is fenced again
        assert not [
            char for char in set(source) - set("`") if sent.count(char) < source.count(char)
        ]
    for part in parts:
        shown = msgspec.json.decode(part.payload, type=Payload).html
        assert len(msgspec.json.encode((part.text, shown))) <= LIMIT + 2_000
        assert not oversized(replacement("$e", part, plain=False))
        tags = _TAG.findall(shown)
        assert {tag for tag, _ in tags} <= set(TAGS.split())
        assert "<" not in _TAG.sub("", shown)
        names = {name for _, more in tags for name in re.findall(r"([a-z-]+)=", more)}
        assert names <= {"href", "class", "start"} or "href" in names


def test_the_page_shows_what_is_sent() -> None:
    section = PAGE.read_text("utf-8").split("## What it looks like")[1]
    source, shown = (
        "\n".join(line[4:] for line in block.rstrip("\n").split("\n"))
        for block in re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", section, re.MULTILINE)
    )
    assert html(source) == shown
