"""Modules are imported at the top of files, where a reader finds them."""

from __future__ import annotations

import ast

from tests.syntax import ROOT, nodes

MOST = 14
"""Imports within functions of the core: of what is heavy and rarely used, each with its reason. The
limit only shrinks."""


def within_functions() -> dict[str, bool]:
    """Where they are, and whether a reason stands beside each."""
    found: dict[str, bool] = {}
    core = ROOT / "nanobot"
    for file in sorted(core.rglob("*.py")):
        if {"plugins", "migrations"} & set(file.relative_to(core).parts):
            continue
        lines = file.read_text("utf-8").splitlines()
        for function in nodes(file):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        place = f"{file.relative_to(ROOT)}:{node.lineno}"
                        _, _, reason = lines[node.lineno - 1].partition("# noqa: PLC0415")
                        found[place] = len(reason.split()) > 2
    return found


def test_few_imports_are_within_functions_and_each_says_why() -> None:
    found = within_functions()
    assert 0 < len(found) <= MOST, found
    assert [place for place, reasoned in found.items() if not reasoned] == []
