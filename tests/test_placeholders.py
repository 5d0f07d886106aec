"""Texts that people read have values where names in braces stood."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tests.syntax import ROOT, SOURCES
from tests.syntax import nodes as nodes_of

TEMPLATES = {
    "nanobot/plugins/terminal/log.py": {"level"},  # loguru puts it in
    "nanobot/plugins/embedded/answers/__init__.py": {"model"},
    "nanobot/plugins/page/page_files.py": {"name"},  # of a route
}
"""Names in braces that are not inserted where the text is written, though a variable has them."""


def _texts(nodes: Iterable[ast.AST], but: set[int]) -> list[str]:
    """The literal texts among the nodes, but for those with these ids."""
    constants = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in but)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_text_names_a_variable_that_it_does_not_insert() -> None:
    """The `f` before a part of a text is easily lost, and people then read the name in braces."""
    place = re.compile(r"\{([a-z_]\w*)(?:[.\[!:][^{}]*)?\}")
    found: dict[str, set[str]] = {}
    for file in SOURCES:
        nodes = nodes_of(file)
        inserted = {id(v) for n in nodes if isinstance(n, ast.JoinedStr) for v in n.values}
        inserted |= {
            id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr == "format"
        }
        inserted |= {id(n.value) for n in nodes if isinstance(n, ast.Expr)}  # docstrings
        if not any(map(place.search, _texts(nodes, inserted))):
            continue
        for function in nodes:
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            within = list(ast.walk(function))
            known = {each.arg for each in within if isinstance(each, ast.arg)}
            known |= {n.id for n in within if isinstance(n, ast.Name)}
            named = {name for text in _texts(within, inserted) for name in place.findall(text)}
            if named & known:
                found.setdefault(str(file.relative_to(ROOT)), set()).update(named & known)
    assert found == TEMPLATES
