"""A count of one reads as one: no text says "1 files"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.syntax import ROOT, SOURCES, tree

_NOUNS = (
    "answers|approvals|attempts|calls|cases|changes|chats|columns|conversations|days|entries|"
    "errors|events|facts|files|folders|hours|items|jobs|keys|lines|memories|messages|minutes|"
    "models|others|pages|people|plugins|processes|requests|rows|runs|seconds|servers|sessions|"
    "skills|steps|tests|times|tokens|tools|warnings|words"
)
_PLURAL = re.compile(rf" (?:(?:model|tool|earlier|more) )?(?:{_NOUNS})\b")
_NO_COUNT = re.compile(
    r"[A-Z_.]+"  # a constant
    r"|.*(?:limit|most|max_|MOST_)[A-Za-z_]*"  # configured
    r"|.*\b_?(?:model|name|program|title|url|who)"  # a name, before a verb
)
NEVER_ONE = {
    "abs(seconds) / _DAY": "from two days on",
    "burst.total": "more than a thousand",
    "count} entries are": "more than those that are shown",
    "hours} hours ago": "a greeting waits for hours",
    "len(rows)} files": "more than a thousand",
    "len(value)} items": "for the author of a schema: more than the most, fewer than the least",
    "link.seconds": "ten minutes",
    "max(seconds, 0)": "about; two minutes are minutes",
    "profile.context_tokens": "a context has many",
    "schedule.interval": "a heartbeat is hours",
    "seconds / _DAY": "from two days on",
    "self.seconds": "every second is `every second`",
    "side.tokens": "a run has many",
    "tokens_in": "a prompt has many",
    "usage.prompt_tokens": "a prompt has many",
    "view.tokens": "a prompt has many",
    "len(files)} files of": "a skill with too many",
    "_count(text, sought)} times": "it has to occur once",
}
"""Parts of texts, and why their number is not one."""


@pytest.mark.process
def test_a_count_of_one_is_no_plural() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {text}"
        for file in SOURCES
        for node, text in _plurals(tree(file), frozenset())
        if not any(known in text for known in NEVER_ONE)
    ]
    assert not found, "\n".join(found)


@pytest.mark.process
def test_what_is_never_one_is_still_said() -> None:
    said = "\n".join(text for file in SOURCES for _, text in _plurals(tree(file), frozenset()))
    assert [known for known in NEVER_ONE if known not in said] == []


def _plurals(node: ast.AST, apart: frozenset[str]) -> Iterator[tuple[ast.expr, str]]:
    """The places where a number is followed by a plural, except of numbers that the function
    compares with 1 (`apart`)."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        apart |= {
            ast.unparse(each.left)
            for each in ast.walk(node)
            if isinstance(each, ast.Compare) and ast.unparse(each.comparators[0]) == "1"
        }
    if isinstance(node, ast.JoinedStr):
        for value, text in zip(node.values, node.values[1:], strict=False):
            if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                name = ast.unparse(value.value)
                counted = name not in apart and not _NO_COUNT.fullmatch(name)
                if counted and isinstance(text.value, str) and _PLURAL.match(text.value):
                    yield value, f"{name}}}{text.value}"
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.Call) and ast.unparse(child.func).startswith("logger.")):
            yield from _plurals(child, apart)
