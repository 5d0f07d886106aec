"""A field is described where it stands, not in a paragraph above twenty others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.syntax import ROOT, SOURCES, nodes

MOST_NAMED = 3


def told_above(file: Path) -> Iterator[str]:
    """Classes whose docstring names more of their own fields than that. The keys of the
    configuration have their sentences as annotations."""
    for node in nodes(file):
        if not isinstance(node, ast.ClassDef):
            continue
        if any(ast.unparse(base) == "Settings" for base in node.bases):
            continue
        fields = {
            line.target.id
            for line in node.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        }
        said = ast.get_docstring(node) or ""
        named = sorted(field for field in fields if f"`{field}`" in said)
        if len(named) > MOST_NAMED:
            yield f"{file.relative_to(ROOT)}:{node.name}: {', '.join(named)}"


def test_fields_are_described_where_they_stand() -> None:
    assert [line for file in SOURCES for line in told_above(file)] == []
