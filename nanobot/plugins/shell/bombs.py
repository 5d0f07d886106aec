"""Shell functions and loops that start themselves endlessly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_ENDLESS = ("true", ":", "[ 1 ]", "((1))")


class Functions:
    """The functions of a line, and the functions that each starts."""

    def __init__(self) -> None:
        self._starts: dict[str, Counter[str]] = {}

    def add(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        starts = self._starts.setdefault(_text(name), Counter())
        for command in _commands(body):
            # In the background or in a pipeline it keeps running while others are started.
            beside = command.parent is not None and (
                command.parent.type == "pipeline" or _is_background(command.parent)
            )
            starts[_name_of(command)] += 2 if beside else 1

    def bombs(self) -> Iterator[str]:
        """A description of each function that multiplies."""
        for name in self._starts:
            circle = {other for other in self._reached(name) if name in self._reached(other)}
            members = circle & self._reached(name)
            if any(self._multiplies(member, members) for member in members):
                yield f"the function {name} starts itself more than once"

    def _multiplies(self, name: str, members: set[str]) -> bool:
        return sum(count for other, count in self._starts[name].items() if other in members) > 1

    def _reached(self, name: str) -> set[str]:
        reached, waiting = set[str](), [name]
        while waiting:
            for other in self._starts[waiting.pop()]:
                if other in self._starts and other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return reached


def is_endless(node: Node) -> bool:
    """Whether a loop starts background processes forever."""
    condition = node.child_by_field_name("condition")
    endless = node.type == "c_style_for_statement" and condition is None
    if condition is not None and _text(condition).strip() in _ENDLESS:
        endless = True
    body = node.child_by_field_name("body")
    if not endless or body is None or not _is_background(body):
        return False
    return not any(_name_of(command) in ("wait", "sleep", "break") for command in _commands(body))


def _commands(node: Node) -> Iterator[Node]:
    if node.type == "command":
        yield node
    for child in node.named_children:
        yield from _commands(child)


def _name_of(command: Node) -> str:
    name = command.child_by_field_name("name")
    return "" if name is None else _text(name)


def _is_background(node: Node) -> bool:
    return any(child.type == "&" for child in node.children)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
