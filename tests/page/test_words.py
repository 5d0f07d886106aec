"""What the page takes from elsewhere is in the language shown, too: words that the gateway's
answers carry, words in tables of a module, numbers and days."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.text import WORDS
from tests.page.test_files import OURS, PAGE, PLUGINS, translated

FIELDS = ("state", "status", "level", "attacker", "role")
"""Fields whose words views show as they are."""
APART = {
    "Approval.state",  # open ones alone are listed
    "ApprovalView.state",
    "AttemptView.state",  # shown as a mark
    "CaseResult.state",
    "ChatMessage.role",  # as the model is told
    "PluginView.state",  # not shown
    "Quarantined.state",
}


def page_of(*plugins: str) -> set[str]:
    """The texts in Chinese that are known while views of these plugins are shown."""
    known = translated("zh.js") | translated("zh-views.js")
    for plugin in plugins:
        known |= translated(f"../../../{plugin}/page/zh.js")
    return known


def words_of(kind: Any, place: str, seen: set[type]) -> Iterator[tuple[str, str]]:
    """Each word that an answer of that kind may carry, with its field."""
    if get_origin(kind) is Annotated:
        kind, *notes = get_args(kind)
        for note in notes:
            for word in (getattr(note, "extra", None) or {}).get(WORDS, ()):
                yield place, word
    if get_origin(kind) is Literal:
        for word in get_args(kind):
            yield place, word
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind not in seen:
            seen.add(kind)
            for name, each in typing.get_type_hints(kind, include_extras=True).items():
                yield from words_of(each, f"{kind.__name__}.{name}", seen)
    else:
        for each in get_args(kind):
            yield from words_of(each, place, seen)


def test_each_word_of_the_gateway_that_a_view_shows_is_there_in_chinese() -> None:
    scripts = [*OURS, *(file for files in PLUGINS.values() for file in files)]
    text = "\n".join(file.read_text("utf-8") for file in scripts)
    asked = set(re.findall(r'\b(?:read|change)\(\s*"([^"]+)"', text))
    words: set[tuple[str, str]] = set()
    seen: set[type] = set()
    for operation in [*OPERATIONS, *plugin_operations()]:
        if operation.name in asked:
            words |= set(words_of(operation.returns, operation.name, seen))
    shown = {
        (place, word)
        for place, word in words
        if word and place not in APART and place.rpartition(".")[2] in FIELDS
    }
    assert len(shown) > 40
    names = dict(re.findall(r'^  (\w+): "([a-z ]+)",$', text, re.MULTILINE))
    known = page_of() | {"note"}  # shown as "intended"
    missing = {(place, word) for place, word in shown if names.get(word, word) not in known}
    assert missing == set()


def test_no_view_waits_for_the_chinese_of_another() -> None:
    """A word in a table of a module is in Chinese only if its own texts, or the page's, have it."""
    brought = {plugin: page_of(plugin) - page_of() for plugin in PLUGINS if _has_texts(plugin)}
    for plugin, files in PLUGINS.items():
        known = page_of(*({plugin} & {*brought}))
        elsewhere = set().union(*(brought[other] for other in brought)) - known
        said = set().union(*(re.findall(r'"([^"\n]+)"', file.read_text("utf-8")) for file in files))
        # In small letters they are names of fields and operations.
        assert {text for text in said & elsewhere if text[0].isupper()} == set(), plugin


def _has_texts(plugin: str) -> bool:
    return (PAGE.parents[1] / plugin / "page" / "zh.js").exists()


def test_numbers_and_days_are_in_the_language_shown() -> None:
    """Not in that of the browser, or of nobody."""
    for file in (*OURS, *(file for files in PLUGINS.values() for file in files)):
        if file.name == "format.js":
            continue
        text = file.read_text("utf-8")
        assert not re.search(r"\.toLocale\w+\((?!language\.value)|\.toFixed\(", text), file.name
