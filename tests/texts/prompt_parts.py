"""What the parts of a request to a model are called, where the code says it."""

from __future__ import annotations

import ast
from typing import get_args, get_type_hints

from nanobot.providers.base import ChatMessage
from tests.syntax import ROOT, tree

_PREVIEW = "nanobot/plugins/context/preview.py"
_OF_PROMPTS = ("nanobot/agent/prompt.py", "nanobot/plugins/skills/parts.py")


def parts() -> set[tuple[str, str]]:
    """The parts of prompts and who says a message, with the paths of the modules."""
    found = {(str(role), _PREVIEW) for role in get_args(get_type_hints(ChatMessage)["role"])}
    found.add(("prompt", _PREVIEW))
    for path in _OF_PROMPTS:
        for node in ast.walk(tree(ROOT / path)):
            match node:
                case ast.Call(func=ast.Name(id="PromptPart"), args=[ast.Constant(value=name), _]):
                    found.add((str(name), path))
                case ast.Call(func=ast.Name(id="PromptPart"), args=[ast.JoinedStr() as name, _]):
                    found.add((_row(name, "{0}"), path))
                case _:
                    pass
    return found


def names() -> list[ast.JoinedStr]:
    """How the preview of a request calls its parts."""
    return [
        keyword.value
        for call in ast.walk(tree(ROOT / _PREVIEW))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "PartView"
        for keyword in call.keywords
        if isinstance(keyword.value, ast.JoinedStr)
    ]


def rows() -> list[tuple[str, str]]:
    """The same as rows: what is behind a colon has a row of its own."""
    found = [(name, path) for name, path in sorted(parts()) if not name.isupper()]
    ends = [_row(name, "{0:text}").partition(": ")[0] for name in names()]
    return found + [(row, _PREVIEW) for row in ends]


def _row(name: ast.JoinedStr, hole: str) -> str:
    """A name of which one part differs."""
    texts = (each.value if isinstance(each, ast.Constant) else hole for each in name.values)
    return "".join(map(str, texts))
