"""What findings of the doctor are about, and how bad they are, where the code says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_args, get_type_hints

from nanobot.operations.home import Finding
from tests.syntax import ROOT, tree


def levels() -> Iterator[tuple[str, str]]:
    """The words for how bad a finding is, with their module."""
    for level in get_args(get_type_hints(Finding)["level"]):
        yield str(level), "nanobot/operations/home.py"


def abouts() -> set[tuple[str, str]]:
    """What findings are about, with the paths of the modules."""
    found = set[tuple[str, str]]()
    for file in (ROOT / "nanobot").rglob("*.py"):
        if "Finding(" not in file.read_text("utf-8"):
            continue
        path = file.relative_to(ROOT).as_posix()
        found |= {(text, path) for node in ast.walk(tree(file)) for text in _of(node)}
    return found


def _of(node: ast.AST) -> set[str]:
    match node:
        case ast.Call(func=ast.Name(id="Finding"), keywords=keywords):
            return {text for each in keywords for text in _said(each.arg, each.value)}
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=True)
            return {text for name, value in pairs for text in _said(ast.unparse(name), value)}
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return _said(name, value)
        case _:
            return set()


def _said(name: str | None, value: ast.expr) -> set[str]:
    if name != "about" or not isinstance(value, ast.Constant) or "{" in str(value.value):
        return set()
    return {str(value.value)}
