"""The syntax trees of the code: each file is parsed once in a process, for all tests that read."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

from tests.uncollected import uncollected

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted([*ROOT.glob("nanobot/**/*.py"), *ROOT.glob("channels/nanobot_channels/**/*.py")])


@cache
def _code() -> dict[Path, list[ast.AST]]:
    """Of each file of the code, its tree and all nodes in it, in the order of `ast.walk`."""
    with uncollected():
        nodes = {file: _walked(_parsed(file)) for file in SOURCES}
        gc.freeze()  # a million objects that stay: later tests would wait for looks at them
    return nodes


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"), filename=str(file))


def _walked(tree: ast.AST) -> list[ast.AST]:
    """What `ast.walk` yields, in two thirds of its time."""
    found = [tree]
    for node in found:  # grows meanwhile
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
    return found


def nodes(file: Path) -> list[ast.AST]:
    """All nodes of a file of the code or of the tests. Nobody may change them."""
    return _code()[file] if file in _code() else _walked(_parsed(file))


def tree(file: Path) -> ast.Module:
    """The whole of it."""
    root = nodes(file)[0]
    assert isinstance(root, ast.Module)
    return root
