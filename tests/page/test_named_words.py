"""Words that no `t("...")` of the page names: states, kinds and parts that the gateway gives it,
and tables of its own. They are read from the types of results, the settings and the code, so the
next one is found, too: each is there in Chinese."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import inspect

from nanobot.config.plugin_tables import config_file
from nanobot.messages import Origin
from nanobot.session.entries import Body
from nanobot.text import WORDS
from tests.page.test_files import OURS, PAGE, PLUGINS, translated
from tests.texts.faces import operations
from tests.texts.findings import abouts
from tests.texts.prompt_parts import names, parts

FILES = [*OURS, *(file for files in PLUGINS.values() for file in files)]
NOT_SHOWN = {
    *("AttemptView.state", "CaseResult.state"),  # a sign
    *("Approval.state", "ApprovalView.state"),  # only open ones are listed
    *("FileView.kind", "StepView.kind"),  # an icon, a style
    *("LanguageView.language", "LanguageView.source", "ToolReview.state", "PluginView.state"),
    *("OutboxView.kind", "RunView.kind", "Quarantined.state", "PolicyExplanation.verdict"),
    "Piece.kind",  # has names of the page's own
    *("SettingView.applies", "SettingView.kind", "SettingView.source"),  # a sentence, a field
}
"""Fields whose words the page does not write."""
SAME = {"", "An answer is there.", "MCP"}
"""What is the same in Chinese, or is in a table of both languages."""


def declared() -> dict[str, tuple[str, ...]]:
    """The words of fields of results, by field."""
    found: dict[str, tuple[str, ...]] = {}
    for operation in operations():
        found.update(_words(inspect.type_info(operation.returns), "", frozenset()))
    return found


def _words(info: Any, field: str, within: frozenset[type]) -> Iterator[tuple[str, tuple[str, ...]]]:
    match info:
        case inspect.Metadata(type=inner, extra=extra):
            if words := (extra or {}).get(WORDS):
                yield field, words
            yield from _words(inner, field, within)
        case inspect.StructType(cls=kind, fields=fields) if kind not in within:
            for each in fields:
                name = f"{kind.__name__}.{each.encode_name}"
                yield from _words(each.type, name, within | {kind})
        case inspect.UnionType(types=types):
            for member in types:
                yield from _words(member, field, within)
        case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner):
            yield from _words(inner, field, within)
        case inspect.EnumType(cls=kind):
            yield field, tuple(each.value for each in kind)
        case inspect.LiteralType(values=values):
            yield field, tuple(map(str, values))
        case _:
            return


def chinese() -> set[str]:
    brought = (translated(f"../../../{plugin}/page/zh.js") for plugin in PLUGINS)
    return translated("zh.js") | translated("zh-views.js") | set().union(*brought)


def named() -> dict[str, str]:
    """What the page calls states that it does not call as the gateway does."""
    text = (PAGE / "parts" / "list.js").read_text("utf-8")
    table = text.partition("const NAMES = {")[2].partition("};")[0]
    return dict(re.findall(r'(\w+): "([^"]+)"', table))


def lacking(words: Iterable[str]) -> list[str]:
    known, names = chinese(), named()
    return sorted({word for word in words if names.get(word, word) not in known} - SAME)


def test_each_word_of_a_result_is_there_in_chinese() -> None:
    words = {field: lacking(each) for field, each in declared().items() if field not in NOT_SHOWN}
    assert len(words) > 20
    assert {field: each for field, each in words.items() if each} == {}


def test_each_kind_of_an_entry_and_each_origin_is_there_in_chinese() -> None:
    info = inspect.type_info(Body)
    kinds = [str(each.tag).replace("_", " ") for each in info.types]  # type: ignore[attr-defined]
    assert len(kinds) > 20
    assert lacking(kinds) == []
    assert lacking([each.value for each in Origin] + ["background"]) == []


def shapeless() -> set[str]:
    """The fields of entries that have no form of their own in the view of a run."""
    text = (PAGE / "views" / "runs" / "run.js").read_text("utf-8")
    formed = set(re.findall(r'kind === "(\w+)"', text))
    (apart,) = re.findall(r"const APART = (\[.*\]);", text)
    fields = {
        str(field.encode_name)
        for each in inspect.type_info(Body).types  # type: ignore[attr-defined]
        if each.tag not in formed and "text" not in {field.encode_name for field in each.fields}
        for field in each.fields
    }
    return fields - {*re.findall(r'"(\w+)"', apart)}


def test_each_field_of_an_entry_that_the_page_names_is_there_in_chinese() -> None:
    assert {"verdict", "rule", "prompt_variant"} <= shapeless()
    assert lacking(name.replace("_", " ") for name in shapeless()) == []
    assert lacking({*declared()["ApprovalView.state"]} - {"open"}) == []


def headings() -> list[str]:
    """What the page calls the tables of the configuration."""
    text = (PAGE / "views" / "settings" / "keys.js").read_text("utf-8")
    table = text.partition("const TABLES = {")[2].partition("};")[0]
    known = dict(re.findall(r'(\w+): "([^"]+)"', table))
    whole = inspect.type_info(config_file())
    assert isinstance(whole, inspect.StructType)
    tables = [each.encode_name for each in whole.fields if _is_table(each.type)]
    assert len(tables) > 20
    return [known.get(each, each.capitalize().replace("_", " ")) for each in tables]


def _is_table(info: inspect.Type) -> bool:
    match info:
        case inspect.Metadata(type=inner):
            return _is_table(inner)
        case inspect.UnionType(types=types):
            return any(map(_is_table, types))
        case _:
            return isinstance(info, inspect.StructType | inspect.DictType)


def test_each_table_of_the_settings_has_a_chinese_heading() -> None:
    assert lacking(headings()) == []


def test_what_a_finding_is_about_is_there_in_chinese() -> None:
    found = {about for about, _ in abouts()}
    assert {"disk", "clock", "sandbox", "rows"} <= found
    assert lacking(found) == []


def tables() -> Iterator[tuple[str, str]]:
    """The texts in tables of the page's modules, with their modules."""
    for file in FILES:
        for table in re.findall(
            r"^(?:export )?const [A-Z_]+ = ([\[{].*?^[\]}]);",
            file.read_text("utf-8"),
            re.MULTILINE | re.DOTALL,
        ):
            for text in re.findall(r'"([A-Z][a-z]+(?: [^"\\]*)?)"', table):
                yield file.name, text


def test_each_text_in_a_table_of_the_page_is_there_in_chinese() -> None:
    found = list(tables())
    assert len(found) > 60
    assert lacking(text for _, text in found) == []


def test_each_part_of_what_a_model_would_be_sent_has_a_form_and_a_chinese_name() -> None:
    named = {name for name, _ in parts() if "{" not in name}
    assert {"identity", "skills", "user"} <= named
    assert lacking(named) == []
    text = (PAGE / "views" / "chat" / "context.js").read_text("utf-8")
    forms = [re.compile(form) for form in re.findall(r"\[/(.+)/, \"", text)]
    said = [
        "".join(
            str(getattr(each, "value", "")) if isinstance(each, ast.Constant) else "1"
            for each in name.values
        )
        for name in names()
    ] + [f"system: {name}" for name, _ in parts() if "{" in name]
    assert len(said) >= len(forms) > 3
    assert [name for name in said if not any(form.match(name) for form in forms)] == []
    assert lacking(re.findall(r'/, "([^"]+)"\]', text)) == []
