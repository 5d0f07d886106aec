"""Parsing and dividing cost what the length of a text asks for, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import SupportsIndex, overload

import pytest
from hypothesis import given, settings
from markdown_it.rules_inline import StateInline

from nanobot.messages import Address, OutboundMessage
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.common.parsing import MAX_ALL_MARKS, MAX_LINES, MAX_MARKS, markdown_parser
from nanobot_channels.common.text import Rich, Span, Style, clean, split
from nanobot_channels.discord import parts as discord_parts
from nanobot_channels.email import parts as email_parts
from nanobot_channels.matrix import parts as matrix_parts
from nanobot_channels.slack import parts as slack_parts
from nanobot_channels.slack.text import without_mention
from nanobot_channels.telegram import parts as _telegram
from tests.channels.hostile import hostile, repeated, texts
from tests.sampling import examples, few

RENDERERS = (
    discord_parts.render,
    email_parts.render,
    matrix_parts.render,
    slack_parts.render,
    _telegram.render,
)


HOSTILE = tuple(hostile(10))


class Steps:
    """A parser that counts at how many places its inline rules were tried, looking ahead too."""

    def __init__(self) -> None:
        self.count = 0
        self.parser = markdown_parser()
        self.parser.inline.ruler.before("text", "counting", self._tried)

    def _tried(self, _state: StateInline, _silent: bool) -> bool:
        self.count += 1
        return False


@pytest.mark.parametrize("length", few([20_000, 100_000]))
@pytest.mark.parametrize("name", HOSTILE)
def test_the_parser_tries_no_more_places_than_a_text_has_characters(name: str, length: int) -> None:
    text = hostile(length)[name]
    steps = Steps()
    tokens = steps.parser.parse(text)
    assert steps.count <= len(text), name
    assert sum(len(token.children or ()) for token in tokens) <= len(text)


@pytest.mark.parametrize("length", few([60_000, 200_000]))
@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_of_a_text_is_bounded_however_long_it_is(name: str, length: int) -> None:
    text = hostile(length)[name]
    tokens = markdown_parser().parse(text)
    assert sum(1 + len(token.children or ()) for token in tokens) <= 30_000, name


def test_the_pieces_of_one_text_share_its_bounds() -> None:
    lines = [f"- *item {number}* {'x' * 20}" for number in range(MAX_LINES + 50)]
    message = OutboundMessage(address=Address("any", "1"), text="\n".join(lines), key="k")
    first, *_, last = slack_parts.render(message)
    assert first.text.startswith("• item 0 ")
    assert last.text.endswith("\n".join(lines[MAX_LINES:]))


@pytest.mark.parametrize(
    "text", ["[[" * 20, "*a **b _c ~~d " * 15, "[a](b " * 20, "`" * 30 + "a ` `` b" * 8]
)
def test_as_many_marks_as_are_read_cost_no_more_than_they_may(text: str) -> None:
    steps = Steps()
    steps.parser.parse("\n\n".join([text] * 100))
    assert steps.count <= 100 * 15 * len(text)


class Counted(tuple[Span, ...]):
    """Spans that count how many of them were looked at."""

    __slots__ = ()
    looked = 0

    def __iter__(self) -> Iterator[Span]:
        for span in super().__iter__():
            Counted.looked += 1
            yield span

    @overload
    def __getitem__(self, at: SupportsIndex) -> Span: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> Span | tuple[Span, ...]:
        result = super().__getitem__(at)
        Counted.looked += len(result) if isinstance(result, tuple) else 1
        return result


def test_dividing_looks_at_a_span_a_few_times_however_many_parts_there_are() -> None:
    spans = Counted(Span(at, at + 2, Style.BOLD) for at in range(0, 30_000, 3))
    Counted.looked = 0
    parts = split(Rich("ab " * 10_000, spans), 300, max_spans=100)
    assert len(parts) >= 100
    assert sum(len(part.spans) for part in parts) == len(spans)
    assert Counted.looked <= 4 * len(spans)


def letters(text: str) -> set[str]:
    return {char for char in text if char.isalnum()}


@pytest.mark.process
@settings(max_examples=examples(60))
@given(texts(100, 500, 2_000, 6_000))
def test_no_renderer_loses_a_letter_of_a_hostile_text(text: str) -> None:
    for render in RENDERERS:
        message = OutboundMessage(address=Address("any", "1"), text=text, key="k")
        parts = render(message)
        assert all(part.text.strip() for part in parts)
        shown = "".join(part.text + part.payload.decode() for part in parts)
        assert letters(clean(text)) <= letters(shown)


def test_a_line_of_too_many_marks_is_literal_and_others_are_not() -> None:
    odd = "*a" * (MAX_MARKS + 1)
    rich = from_markdown(f"**before**\n{odd}\n**after**")
    assert rich.text == f"before\n{odd}\nafter"
    bold = [rich.text[span.start : span.end] for span in rich.spans]
    assert bold == ["before", "after"]


def test_a_paragraph_of_many_lines_keeps_its_styles() -> None:
    rich = from_markdown("\n".join(f"**name {number}**: value" for number in range(1_000)))
    assert len(rich.spans) == 1_000
    assert "*" not in rich.text


def test_lines_beyond_the_bound_are_literal_and_all_there() -> None:
    lines = [f"- *item {number}*" for number in range(MAX_LINES + 50)]
    rich = from_markdown("\n".join(lines))
    assert rich.text.endswith("\n".join(lines[MAX_LINES:]))
    assert rich.text.startswith("• item 0\n• item 1\n")


def test_what_begins_more_quotes_than_the_bound_is_literal() -> None:
    deep = f"{'>' * 20} b\n"
    rich = from_markdown("> a\n" * 100 + deep * 400)
    assert rich.text.startswith("a\na\n")
    assert rich.text.endswith(f"b\n\n{deep * 105}")


def test_code_is_no_reason_for_a_bound() -> None:
    code = repeated("**_~[`<", 20_000)
    assert from_markdown(f"```\n{code}\n```").text == code


def test_marks_beyond_those_of_a_whole_text_are_literal() -> None:
    blocks = ["*a* " * 40] * (MAX_ALL_MARKS // 80 + 3)
    text = from_markdown("\n\n".join(blocks)).text
    assert text.startswith("a a a")
    assert text.rstrip().endswith("*a*")


def test_a_table_with_too_many_rows_shows_them_all() -> None:
    rows = [f"|{number}|x{number}|" for number in range(2_500)]
    text = from_markdown("\n".join(["|a|b|", "|-|-|", *rows])).text
    assert all(f"x{number}" in text for number in range(2_500))


def test_a_mention_goes_with_the_blanks_around_it_however_many() -> None:
    assert without_mention("a \t<@U1|x>\t b  <@U1> <@U1> c", "U1") == "a b  c"
    assert without_mention(f"a{' ' * 500_000}b<@U1>c `<@U1>`", "U1").endswith("b c `<@U1>`")
