"""Every face of an operation is read for texts, and answers in chats are translated by line."""

from __future__ import annotations

from typing import get_type_hints

from nanobot.operations.rendering import as_text
from nanobot.plugins.common.translation.results import data_in
from nanobot.plugins.language.own_words import own_words
from nanobot.text import around
from nanobot.texts import translated
from tests.texts.faces import faces, operations
from tests.texts.test_translating import Told

_CONTENTS = {"_toml"}
"""Results that are the content of a file, with no word of ours."""


def test_each_text_of_a_result_is_declared_as_nanobots_own() -> None:
    for operation in operations():
        if operation.text.__name__ not in _CONTENTS:
            hint = get_type_hints(operation.text, include_extras=True)["return"]
            assert "sentence" in str(hint), f"{operation.name}: its text returns no Sentence"


def test_the_help_of_operations_and_commands_has_rows() -> None:
    rows = {row for row, _ in faces()}
    for told in (
        "show the commands",
        "Its time zone, as in Europe/Berlin",
        "Print new lines until Ctrl-C",
        "Scheduled jobs",
        "Set up a model and a chat, step by step",
    ):
        assert told in rows


def test_the_data_of_a_result_is_all_that_is_no_sentence() -> None:
    one = Told("typed", "not running", troubles=["not root"])
    more = Told("other", "said", more={"key": (one,)})
    assert data_in([more], list[Told]) == ["other", "typed"]
    assert data_in("typed", str) == ["typed"]


def test_a_line_of_the_data_is_not_nanobots_own() -> None:
    (status,) = [each for each in operations() if each.name == "status"]
    text = "Gateway: not running\nnot running\n  not running, and more…"
    assert own_words(status, text, ["x", "not   running, and more of it"]) == ((0, 20),)
    assert own_words(status, text, ["x" * 300_000]) == ()


def test_in_a_list_each_value_counts_for_itself() -> None:
    (runs,) = [each for each in operations() if each.name == "runs list"]
    assert runs.text is as_text
    text = "- `01m80` failed, waiting, 5 min ago"
    own = own_words(runs, text, ["failed"])
    assert [text[start:end] for start, end in own] == ["waiting", "5 min ago"]


def test_the_parts_around_what_others_wrote_are_found_in_order() -> None:
    text = "before QUOTED between OTHER after"
    found = [text[start:end] for start, end in around(text, "QUOTED", "OTHER")]
    assert found == ["before ", " between ", " after"]
    assert around("QUOTED", "QUOTED") == ()
    assert around("all of it", "") == ((0, 9),)


def test_short_texts_are_translated_only_where_they_are_certainly_nanobots() -> None:
    assert translated("5 min ago", "zh") == "5 min ago"
    assert translated("5 min ago", "zh", within=True) == "5 分钟前"
    assert translated("- Model: not running", "zh", within=True) == "- 模型：未运行"
    assert translated("(not running)", "zh") == "（未运行）"
    assert translated("one\nnot running", "zh", within=True) == "one\n未运行"
