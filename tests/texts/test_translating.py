"""Texts are found by their templates, and the values in them stay what they are."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nanobot import texts
from nanobot.plugins.common.translation import language_of
from nanobot.plugins.common.translation.catalogue import Catalogue
from nanobot.plugins.common.translation.results import in_language
from nanobot.plugins.common.translation.template import Template
from nanobot.text import Sentence
from nanobot.texts import language_of_terminal, translated
from tests.texts.files import read

ROWS = [Template.read(row) for row in read()]
VALUES = st.text(max_size=40)


def test_a_text_is_found_with_its_values_and_without() -> None:
    assert translated("not running", "zh") == "未运行"
    assert translated("There is no run 8; `runs list` lists them.", "zh") == (
        "没有运行 8；可用 `runs list` 列出。"
    )
    assert translated("there is no job #9", "zh") == "没有任务 #9"
    assert translated("there is no job #9", "en") == "there is no job #9"


def test_without_a_translator_everything_stays_english(monkeypatch: pytest.MonkeyPatch) -> None:
    assert texts.translated("not running", "zh") == "未运行"
    monkeypatch.setattr(texts, "_translators", [lambda: None])
    assert texts.translated("not running", "zh") == "not running"


def test_what_no_row_has_stays_as_it_is() -> None:
    for text in ("", "Thursday", "it is fine", "Kein Zutritt: bitte klopfen.", "x" * 30_000):
        assert translated(text, "zh") == text


def test_several_sentences_are_translated_one_by_one() -> None:
    assert translated("not running; not root", "zh") == "未运行；不是 root"
    assert translated("It is stopping. Nobody wrote. Who knows?", "zh") == (
        "正在停止。没有人来信。Who knows?"
    )
    assert translated("a, then: nanobot runs as root", "zh") == "a, then：nanobot 以 root 身份运行"


def test_a_text_within_another_is_translated_too() -> None:
    assert translated("sending metrics failed 3 times: no answer within 2 s", "zh") == (
        "发送指标失败 3 次：在 2 秒内没有响应"
    )


@given(st.sampled_from(ROWS), st.data())
def test_values_are_kept_whatever_they_contain(template: Template, data: st.DataObject) -> None:
    values = {hole.number: data.draw(VALUES) for hole in template.holes}
    text = template.filled(values)
    found = template.values(text)
    assume(found is not None)
    assert found is not None
    # Where words of the template are in a value too, the text can be divided in several ways. Each
    # of them has all of the text.
    assert template.filled(dict(zip(values, found, strict=True))) == text
    signs = set("".join(template.literals).lower())
    if all(template.literals[1:-1]) and not signs & set("".join(values.values()).lower()):
        assert found == list(values.values())


@given(st.lists(VALUES, min_size=2, max_size=2), st.booleans())
def test_a_translation_contains_each_value(values: list[str], full_stop: bool) -> None:
    known = Catalogue({"<{0}> is not in <{1}> at all": "〈{1}〉没有〈{0}〉"})
    one, two = values
    assume("> is not in <" not in one + two)
    said = known.translated(f"<{one}> is not in <{two}> at all{'.' if full_stop else ''}")
    assert said == f"〈{two}〉没有〈{one}〉{'。' if full_stop else ''}"


@given(VALUES)
def test_a_value_at_the_end_is_kept_with_all_its_signs(value: str) -> None:
    known = Catalogue({"it went to {0}": "它去了{0}", "it went": "它去了"})
    assert known.translated(f"it went to {value}") == f"它去了{value}"


def test_a_longer_template_wins_over_a_shorter_one() -> None:
    known = Catalogue(
        {"{0} is missing": "缺少 {0}", "{0}: the key {1} is missing": "{0}：缺少键 {1}"}
    )
    assert known.translated("web: the key port is missing") == "web：缺少键 port"


@pytest.mark.parametrize("text", ["is " * 6_000, "a: " * 6_000, ". " * 9_000, "{0} " * 5_000])
def test_no_text_takes_long(text: str) -> None:
    started = time.thread_time()
    Catalogue({row: said for row, (_, said) in read().items()}).translated(text)
    assert time.thread_time() - started < 5


def test_a_brace_in_a_row_has_to_be_doubled() -> None:
    with pytest.raises(ValueError, match="not doubled"):
        Template.read("write to {bot}")
    assert Template.read("write to {{bot}} {0}").filled({0: "x"}) == "write to {bot} x"


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9,zh;q=0.8", "en"),
        ("de, zh;q=0.5, en;q=0.1", "zh"),
        ("zh;q=0", "en"),
        ("zh;q=lots", "en"),
        ("*", "en"),
        ("," * 9_000, "en"),
    ],
)
def test_a_header_says_the_language(header: str, language: str) -> None:
    assert language_of(header) == language


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_a_terminal_says_the_language(environ: dict[str, str], language: str) -> None:
    assert language_of_terminal(environ) == language


class Told(msgspec.Struct, frozen=True):
    """What a person typed, what nanobot says about it, and more of the same."""

    typed: str
    said: Sentence
    wrong: Sentence | None = None
    troubles: list[Sentence] = []
    more: dict[str, tuple[Told, ...]] = {}


def test_only_what_is_declared_as_a_sentence_is_translated() -> None:
    one = Told("not running", "not running", "not root", ["not root", "else"])
    kept = Told("not root", "Thursday", more={"not running": (one,)})
    given_ = in_language([kept], list[Told], "zh")
    said = Told("not running", "未运行", "不是 root", ["不是 root", "else"])
    assert given_ == [Told("not root", "Thursday", more={"not running": (said,)})]
    assert in_language("not running", str, "zh") == "not running"
    assert in_language("not running", Sentence, "zh") == "未运行"
    assert in_language([kept], list[Told], "en") == [kept]
