"""Front matter: the YAML at the top of a Markdown file. Every value keeps its line number for error
messages. Values under keys that are never requested are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import msgspec

from nanobot.text import pattern

_DEEPEST = 100
MAX_CHARS = 64_000

_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
# `description: Baking: a start` is invalid YAML, but common.
_COLON_WITHIN = pattern(r"^([\w.-]+):[ ]+([^\s'\"|>\[{&*!%@`#-].*:[ ].*)$", re.MULTILINE)


class FrontMatterError(ValueError):
    """An error in front matter, with its line."""


class FrontMatterField(msgspec.Struct, frozen=True):
    """The value of a key. `line` counts from 1; `node` is the YAML node."""

    key: str
    line: int
    node: Any

    def wrong(self, expected: str) -> FrontMatterError:
        """The error that this value is not of the expected kind."""
        return FrontMatterError(f"line {self.line}: {self.key} must be {expected}")

    def text(self) -> str:
        """The value as text; numbers, dates and so on as written."""
        if self.node.id != "scalar":
            raise self.wrong("text")
        return str(self.node.value).strip()

    def flag(self) -> bool:
        word = self.text().lower()
        if word not in (*_TRUE, *_FALSE):
            raise self.wrong(f"true or false, not {word[:60]!r}")
        return word in _TRUE

    def listed(self) -> tuple[str, ...]:
        """The value as a list of texts; a single text becomes a list of one, no value an empty
        list.
        """
        if self.node.id == "scalar":
            return tuple(filter(None, [self.text()]))
        if self.node.id != "sequence" or any(item.id != "scalar" for item in self.node.value):
            raise self.wrong("a list of texts")
        return tuple(str(item.value) for item in self.node.value)

    def table(self) -> dict[str, FrontMatterField]:
        """The value as nested keys and values."""
        if self.node.id != "mapping":
            raise self.wrong("a table: keys in separate lines, indented")
        return _fields(self.node)


@lru_cache(maxsize=64)
def split(text: str) -> tuple[Mapping[str, FrontMatterField], str]:
    """The fields of the front matter, and the text after it. Raises FrontMatterError. A text is
    parsed once: every new prompt reads the skills, which hardly ever change.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise FrontMatterError("line 1: there is no front matter; begin with a line of three -")
    ends = [number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"]
    if not ends:
        raise FrontMatterError("the front matter has no end; close it with a line of three -")
    front = "\n".join(lines[1 : ends[0]])
    if len(front) > MAX_CHARS:
        raise FrontMatterError(f"the front matter is longer than {MAX_CHARS:,} characters")
    node = _composed(front)
    if node is not None and node.id != "mapping":
        raise FrontMatterError("line 2: the front matter must be keys with their values")
    fields = MappingProxyType({} if node is None else _fields(node))
    return fields, "\n".join(lines[ends[0] + 1 :]).strip()


def _composed(front: str) -> Any:
    """The node tree of the YAML; no values are constructed. Anchors are refused: a few lines of
    them can expand to an enormous tree.
    """
    yaml = import_module("yaml")  # takes 20 ms and has no types
    try:
        # Use the C parser if it was built. The Python parser takes 3 ms for a skill, but reports
        # lines more precisely.
        return _tree(yaml, front, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, FrontMatterError, RecursionError):
        pass
    try:
        return _tree(yaml, front, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        quoted = _COLON_WITHIN.sub(_quoted, front)
        if quoted != front:
            return _composed(quoted)
        why = " ".join(filter(None, (error.context, error.problem)))
        raise FrontMatterError(
            f"{_line(error.problem_mark or error.context_mark)}: this is not YAML: {why}"
        ) from None
    except yaml.YAMLError as error:
        raise FrontMatterError(f"the front matter is not YAML: {error}") from None
    except RecursionError:
        raise FrontMatterError("the front matter is nested too deeply") from None


def _tree(yaml: Any, front: str, loader: Any) -> Any:
    depth = 0
    for event in yaml.parse(front, Loader=loader):
        if getattr(event, "anchor", None):
            raise FrontMatterError(f"{_line(event.start_mark)}: & and * are not supported here")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise FrontMatterError("the front matter is nested too deeply")
    return yaml.compose(front, Loader=loader)


def _fields(mapping: Any) -> dict[str, FrontMatterField]:
    fields: dict[str, FrontMatterField] = {}
    for key, node in mapping.value:
        if key.id != "scalar":
            raise FrontMatterError(f"{_line(key.start_mark)}: a key must be text")
        if key.value in fields:
            raise FrontMatterError(f"{_line(key.start_mark)}: {key.value} is there twice")
        fields[key.value] = FrontMatterField(key.value, key.start_mark.line + 2, node)
    return fields


def _line(mark: Any) -> str:
    return f"line {mark.line + 2}" if mark is not None else "line 2"


def _quoted(match: re.Match[str]) -> str:
    text = match[2].partition(" #")[0].rstrip().replace("'", "''")
    return f"{match[1]}: '{text}'"
