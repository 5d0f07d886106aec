"""Every text that the code can show to a person, as a row of the catalogue."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.texts.reading import (
    Hole,
    Reading,
    Texts,
    is_text,
    label_of,
    lines,
    returned,
    sentences_of,
)
from tests.texts.source import Found, Function, Place, called, every, modules

_NOT_FOR_PEOPLE = ("ToolError", "Fenced")
"""Errors of the tree whose texts models read, or nobody."""
_TOLD = frozenset({"CancelledWithin", "FrontMatterError", "NoControlGroups", "WantedToExit"})
"""Exceptions beside that tree whose texts become part of what people are told."""
_DECLARED = re.compile(r"\bSentence\b|\bWORDS\b")
"""In the annotation of a field: it holds a sentence, or a word for a state."""
_ALSO_DATA = frozenset(
    {"text", "summary", "person", "question", "knock", "message", "label", "title"}
)
"""Names of such fields that elsewhere hold what people write."""
_SHORT = {"Choice": "label", "HelpTopic": "heading", "PageView": "title"}
"""Classes with a field that may be one word, given first or by its name: buttons, headings, views
of the page."""
_MESSAGE = "OutboundMessage"
"""Its text is nanobot's own in notices and questions, and where `own` says so."""
_OWN_KINDS = ("NOTICE", "APPROVAL")
Slot = tuple[int, str]


class Shown:
    """The rows, each with the first place that says it."""

    def __init__(self) -> None:
        self._texts = Texts()
        self._called: dict[int, Found | None] = {}
        self._nodes = [pair for module in modules().values() for pair in every(module)]
        self._classes = {
            id(node): Found(node, Place(place.module))
            for node, place in self._nodes
            if isinstance(node, ast.ClassDef)
        }
        self._errors = self._error_classes()
        self._sinks: set[Slot] = set()
        self._told: set[Slot] = set()
        self.found: dict[tuple[Reading, str], None] = {}

    def rows(self) -> list[tuple[str, str]]:
        """Each row with the paths of the modules that say it."""
        self._sinks = self._annotated()
        names = {name for key, name in self._sinks if key in self._classes}
        self._texts.telling = frozenset(names - _ALSO_DATA | {"strerror"})
        before = -1
        while before != len(self._sinks) + len(self._told):
            before = len(self._sinks) + len(self._told)
            self.found = {}
            self._texts.apart = []
            for node, place in self._nodes:
                for value in self._values(node, place):
                    self._take(self._texts.readings(value, place), place)
            for reading, place in self._texts.apart:
                self._take([reading], place)
        return [(self._row(reading), path) for reading, path in self.found]

    def _row(self, reading: Reading) -> str:
        pieces, at = [], 0
        for piece in reading:
            if isinstance(piece, str):
                pieces.append(piece.replace("{", "{{").replace("}", "}}"))
                continue
            text = piece.text or (piece.flows is not None and piece.flows in self._told)
            pieces.append(f"{{{at}:text}}" if text else f"{{{at}}}")
            at += 1
        return "".join(pieces)

    def _take(self, readings: list[Reading], place: Place) -> None:
        for reading in readings:
            for piece in reading:
                if isinstance(piece, Hole) and piece.flows is not None:
                    self._sinks.add(piece.flows)
            for line in lines(reading):
                label = None if place.module.path.startswith("channels") else label_of(line)
                found = line if is_text(line) else label
                if found is not None:
                    self.found[found, place.module.path] = None

    def _values(self, node: ast.AST, place: Place) -> Iterator[ast.expr]:
        """The expressions that a node shows."""
        if isinstance(node, ast.Call):
            yield from self._arguments(node, place)
        elif isinstance(node, Function) and node.returns is not None:
            kind = ast.unparse(node.returns)
            if "Sentence" in kind:
                self._take_returned(node, place, several="[Sentence" in kind)

    def _take_returned(self, node: Function, place: Place, *, several: bool) -> None:
        inside = Place(place.module, place.within, (*place.functions, node))
        for value in returned(node):
            pairs = self._texts.elements(value, inside) if several else [(value, inside)]
            for each, there in pairs:
                self._take(self._texts.readings(each, there), there)

    def _arguments(self, node: ast.Call, place: Place) -> Iterator[ast.expr]:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "replace":
            for keyword in node.keywords:
                if keyword.arg and any(name == keyword.arg for _, name in self._fields):
                    yield keyword.value
            return
        if id(node) not in self._called:
            self._called[id(node)] = called(place, node.func)
        found = self._called[id(node)]
        if found is None:
            return
        target = found.node
        name = target.name if isinstance(target, ast.ClassDef) else ""
        if name in _SHORT:
            self._take_label(node, _SHORT[name], place)
        if name == _MESSAGE:
            yield from _own_text(node)
        elif id(target) in self._errors and not self._own_init(target):
            yield from node.args[:1]
        else:
            yield from self._of_slots(node, found, place)

    def _of_slots(self, node: ast.Call, found: Found, place: Place) -> Iterator[ast.expr]:
        """The arguments for fields and parameters that are sentences."""
        target, names = found.node, self._parameters(found)
        for position, argument in enumerate(node.args):
            if position < len(names):
                yield from self._given((id(target), names[position]), argument, place)
        for keyword in node.keywords:
            if keyword.arg:
                yield from self._given((id(target), keyword.arg), keyword.value, place)

    def _take_label(self, node: ast.Call, field: str, place: Place) -> None:
        """The label of a button or the title of a view, which may be one word."""
        if any(keyword.arg == "quoted" for keyword in node.keywords):
            return
        named = [keyword.value for keyword in node.keywords if keyword.arg == field]
        for reading in self._texts.readings((*node.args, *named)[0], place):
            if any(isinstance(piece, str) and piece.strip() for piece in reading):
                self.found[reading, place.module.path] = None

    def _given(self, slot: Slot, value: ast.expr, place: Place) -> Iterator[ast.expr]:
        if slot in self._sinks:
            if any(is_text(reading) for reading in self._texts.readings(value, place)):
                self._told.add(slot)
            yield value

    def _own_init(self, target: ast.AST) -> bool:
        """Whether the class makes its message itself."""
        return any(
            isinstance(each, Function)
            and each.name == "__init__"
            and all(argument.arg != "message" for argument in each.args.args)
            for each in getattr(target, "body", ())
        )

    def _parameters(self, found: Found) -> list[str]:
        node = found.node
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, Function) and inner.name == "__init__":
                    return [each.arg for each in inner.args.args][1:]
            return [
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ]
        if isinstance(node, Function):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
            return names[1:] if names[:1] in (["self"], ["cls"]) else names
        return []

    def _annotated(self) -> set[Slot]:
        """The fields and parameters that are declared as sentences."""
        slots: set[Slot] = set()
        for node, _ in self._nodes:
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, ast.AnnAssign) and _DECLARED.search(
                        ast.unparse(each.annotation)
                    ):
                        slots.add((id(node), ast.unparse(each.target)))
                    if isinstance(each, Function) and each.name == "__init__":
                        slots |= {(id(node), name) for name in sentences_of(each)}
            elif isinstance(node, Function):
                slots |= {(id(node), name) for name in sentences_of(node)}
        self._fields = {slot for slot in slots if slot[0] in self._classes}
        return slots

    def _error_classes(self) -> set[int]:
        """The classes of the tree of errors, and those in other modules that extend it."""
        names, chosen, before = {"NanobotError", *_TOLD}, set[int](), -1
        while before != len(chosen):
            before = len(chosen)
            for key, found in self._classes.items():
                node = found.node
                assert isinstance(node, ast.ClassDef)
                own = {node.name, *map(_named, node.bases)} & names
                if own and node.name not in _NOT_FOR_PEOPLE:
                    chosen.add(key)
                    names.add(node.name)
        return chosen


@cache
def shown_rows() -> list[tuple[str, str]]:
    """The rows of all texts, each with the modules that say it; looked for once in a process."""
    return Shown().rows()


def _own_text(node: ast.Call) -> Iterator[ast.expr]:
    """The text of a message that nanobot itself wrote."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    kind = ast.unparse(given["kind"]) if "kind" in given else ""
    if "text" in given and ("own" in given or kind.endswith(_OWN_KINDS)):
        yield given["text"]


def _named(base: ast.expr) -> str:
    return base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
