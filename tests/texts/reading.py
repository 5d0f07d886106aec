"""What a text expression can say: its literal pieces, with a hole for each value."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import msgspec

from tests.texts.source import Found, Function, Place, assigned, called, constant, modules

_MOST = 4
"""More readings of one expression than this become holes, and rows of their own."""
_DEEP = 5
_WORD = re.compile(r"(?<![\w./{\[<$`'\"-])[A-Za-z][a-z']+(?![\w/=\[(`-]|[.:][\w/\0])")
_ERRORS = ("Error", "Exception", "OverBudget")
_LABEL = re.compile(r"(?:- )?([A-Z][a-z]+(?: [a-z]+)*)(?::|: )")
_SHORT = re.compile(r"[A-Z][a-z]+[.:!?]")
_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
_PASSED_ON = ("str", "spelled")
"""Functions whose results say what they are given."""
_JOINTS = (": ", "; ", ", ", ". ")


class Hole(msgspec.Struct, frozen=True):
    """A value within a text. `text`: it can be a sentence of nanobot's own. `flows`: the parameter
    of a function that it comes from."""

    text: bool = False
    flows: tuple[int, str] | None = None


Piece = str | Hole
Reading = tuple[Piece, ...]


class Inside(msgspec.Struct, frozen=True):
    """The names of a function: what is assigned, added and appended to them, the exceptions caught
    (whether of nanobot's own), and the parameters (whether they are texts)."""

    values: dict[str, list[ast.expr]]
    additions: dict[str, list[ast.expr]]
    appended: dict[str, list[ast.expr]]
    caught: dict[str, bool]
    parameters: dict[str, bool]

    @classmethod
    def of(cls, function: Function) -> Inside:
        """Those of this function."""
        inside = cls({}, {}, {}, {}, {})
        for node in ast.walk(function):
            for name, value in assigned(node):
                inside.values.setdefault(name, []).append(value)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                inside.additions.setdefault(node.target.id, []).append(node.value)
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")):
                    inside.appended.setdefault(name, []).extend(node.args)
                case _:
                    pass
            if isinstance(node, ast.ExceptHandler) and node.name and node.type is not None:
                own = "Error" in ast.unparse(node.type)
                inside.caught[node.name] = own or inside.caught.get(node.name, False)
        arguments = function.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            annotated = ast.unparse(each.annotation) if each.annotation else ""
            if annotated.partition(" ")[0].endswith(_ERRORS):
                inside.caught[each.arg] = True
            inside.parameters[each.arg] = annotated in ("str", "str | None", "Sentence", "object")
        return inside


class Texts:
    """The readings of expressions. `apart`: sentences that are a value within others, and so have
    rows of their own."""

    def __init__(self) -> None:
        self.apart: list[tuple[Reading, Place]] = []
        self.telling: frozenset[str] = frozenset()
        """Names of attributes that hold sentences."""
        self._inside: dict[int, Inside] = {}

    def readings(  # noqa: C901, PLR0911, PLR0912 - one case for each kind of expression
        self, node: ast.expr, place: Place, depth: int = 0
    ) -> list[Reading]:
        """All that an expression can say, as far as the code tells."""
        if depth > _DEEP:
            return [(Hole(),)]
        match node:
            case ast.Constant(value=str(text)):
                return [(text,)] if text else [()]
            case ast.JoinedStr(values=parts):
                return self._product(parts, place, depth)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._inner(value, place, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._product([left, right], place, depth)
            case ast.IfExp(body=body, orelse=other):
                return _unique(
                    [*self.readings(body, place, depth), *self.readings(other, place, depth)]
                )
            case ast.BoolOp(op=ast.Or(), values=values):
                all_ = [each for value in values for each in self.readings(value, place, depth)]
                return _unique(all_)
            case ast.Subscript(value=ast.Name(id=name)) if constant(place.module, name):
                values_of = constant(place.module, name)
                assert values_of is not None
                found, there = values_of
                chosen = [each for value in found for each in getattr(value, "values", ())]
                return _unique([r for each in chosen for r in self.readings(each, there, depth)])
            case ast.Subscript(value=ast.Dict(values=values)):
                return _unique([r for value in values for r in self.readings(value, place, depth)])
            case ast.Name(id=name):
                return self._named(name, place, depth)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in place.module.imports:
                return self._constant(place, name, attr, depth)
            case ast.Attribute(attr=attr) | ast.Subscript(value=ast.Attribute(attr=attr)) if (
                attr in self.telling
            ):
                return [(Hole(text=True),)]
            case ast.Call():
                return self._call(node, place, depth)
            case _:
                return [(Hole(),)]

    def _inner(self, node: ast.expr, place: Place, depth: int) -> list[Reading]:
        """What is within another text: a choice of few is part of it, others have rows apart."""
        found = self.readings(node, place, depth + 1)
        most = 1 if isinstance(node, ast.Call) else 3
        if len(found) <= most and any(isinstance(p, str) for reading in found for p in reading):
            return found
        return [(self._hole(found, place),)]

    def _hole(self, found: Sequence[Reading], place: Place) -> Hole:
        texts = [reading for reading in found if is_text(reading) or label_of(reading)]
        self.apart += [(reading, place) for reading in texts]
        holes = [piece for reading in found for piece in reading if isinstance(piece, Hole)]
        flows = next((hole.flows for hole in holes if hole.flows), None)
        return Hole(bool(texts) or any(hole.text for hole in holes), flows)

    def _product(self, parts: Sequence[ast.expr], place: Place, depth: int) -> list[Reading]:
        choices = [self.readings(part, place, depth) for part in parts]
        while _size(choices) > _MOST:
            most = max(range(len(choices)), key=lambda at: len(choices[at]))
            choices[most] = [(self._hole(choices[most], place),)]
        return _unique(
            [tuple(itertools.chain(*combined)) for combined in itertools.product(*choices)]
        )

    def _named(self, name: str, place: Place, depth: int) -> list[Reading]:
        for at in range(len(place.functions), 0, -1):
            function = place.functions[at - 1]
            here = self._within(function)
            if name in here.caught:
                return [(Hole(text=here.caught[name]),)]
            inside = msgspec.structs.replace(place, functions=place.functions[:at])
            if name in here.values:
                first = self._all(here.values[name], inside, depth)
                more = self._all(here.additions.get(name, []), inside, depth)
                return _unique([*first, *((*one, *two) for one in first for two in more)])
            if name in here.parameters:
                flows = (id(function), name) if here.parameters[name] else None
                return [(Hole(flows=flows),)]
        values_of = constant(place.module, name)
        return [(Hole(),)] if values_of is None else self._all(*values_of, depth)

    def _within(self, function: Function) -> Inside:
        if id(function) not in self._inside:
            self._inside[id(function)] = Inside.of(function)
        return self._inside[id(function)]

    def _all(self, values: Sequence[ast.expr], place: Place, depth: int) -> list[Reading]:
        return _unique(
            [each for value in values for each in self.readings(value, place, depth + 1)]
        )

    def _constant(self, place: Place, name: str, attr: str, depth: int) -> list[Reading]:
        other = modules().get(".".join(part for part in place.module.imports[name] if part))
        values_of = constant(other, attr) if other is not None else None
        return [(Hole(),)] if values_of is None else self._all(*values_of, depth)

    def _call(self, node: ast.Call, place: Place, depth: int) -> list[Reading]:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[value]) if name in _PASSED_ON:
                return self.readings(value, place, depth)
            case ast.Call(
                func=ast.Attribute(
                    value=value, attr="strip" | "rstrip" | "removesuffix" | "capitalize"
                )
            ):
                return self.readings(value, place, depth)
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[value]):
                return self._joined(value, place, depth)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="textwrap"), attr="dedent")):
                return [(Hole(),)]
            case _:
                found = called(place, node.func)
                return self._returned(found, depth) if found is not None else [(Hole(),)]

    def _joined(self, value: ast.expr, place: Place, depth: int) -> list[Reading]:
        found: list[Reading] = []
        for part, there in self.elements(value, place, depth):
            found += self.readings(part, there, depth + 1)
        return [(self._hole(found, place),)]

    def elements(  # noqa: C901, PLR0912 - one case for each kind of expression
        self, node: ast.expr, place: Place, depth: int = 0
    ) -> Iterator[tuple[ast.expr, Place]]:
        """The elements of a list, as far as the code tells."""
        if depth > _DEEP:
            return
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                for each in elements:
                    if isinstance(each, ast.Starred):
                        yield from self.elements(each.value, place, depth + 1)
                    else:
                        yield each, place
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                yield element, place
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from self.elements(left, place, depth + 1)
                yield from self.elements(right, place, depth + 1)
            case ast.IfExp(body=body, orelse=other):
                yield from self.elements(body, place, depth + 1)
                yield from self.elements(other, place, depth + 1)
            case ast.BoolOp(op=ast.Or(), values=values):
                for value in values:
                    yield from self.elements(value, place, depth + 1)
            case ast.Call(func=ast.Name(id="filter"), args=[_, inner]):
                yield from self.elements(inner, place, depth + 1)
            case ast.Name(id=name) if place.functions:
                inside = self._within(place.functions[-1])
                for value in (*inside.values.get(name, ()), *inside.additions.get(name, ())):
                    yield from self.elements(value, place, depth + 1)
                for value in inside.appended.get(name, ()):
                    yield value, place
            case ast.Call(func=function):
                for argument in node.args:
                    yield from self.elements(argument, place, depth + 1)
                found = called(place, function)
                if found is not None and isinstance(found.node, Function):
                    around = (*found.place.functions, found.node)
                    there = msgspec.structs.replace(found.place, functions=around)
                    for value in returned(found.node):
                        yield from self.elements(value, there, depth + 1)
            case _:
                return

    def _returned(self, found: Found, depth: int) -> list[Reading]:
        node = found.node
        if not isinstance(node, Function) or node.returns is None:
            return [(Hole(),)]
        if not ast.unparse(node.returns).startswith(("str", "Sentence")):
            return [(Hole(),)]
        inside = msgspec.structs.replace(found.place, functions=(*found.place.functions, node))
        all_ = [
            each for value in returned(node) for each in self.readings(value, inside, depth + 1)
        ]
        # A value of the function's own is a value to its caller as well.
        told = ast.unparse(node.returns).startswith("Sentence")
        stay = {(id(node), name) for name in sentences_of(node)}
        return _unique(
            [tuple(_passed(each, reading, stay, told=told) for each in reading) for reading in all_]
        ) or [(Hole(text=told),)]


def sentences_of(function: Function) -> Iterator[str]:
    """The parameters that are declared as sentences."""
    arguments = function.args
    for each in (*arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None and "Sentence" in ast.unparse(each.annotation):
            yield each.arg


def _passed(piece: Piece, reading: Reading, stay: set[tuple[int, str]], *, told: bool) -> Piece:
    if isinstance(piece, str):
        return piece
    if len(reading) > 1:
        return Hole(piece.text, piece.flows if piece.flows in stay else None)
    return Hole(piece.text or told, piece.flows)


@cache
def returned(function: Function) -> tuple[ast.expr, ...]:
    """The values that a function returns, without those of functions in it."""
    return tuple(_returned_by(function.body))


def _returned_by(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        elif isinstance(node, _BLOCKS) and not isinstance(node, Function | ast.ClassDef):
            yield from _returned_by(ast.iter_child_nodes(node))


def lines(reading: Reading) -> list[Reading]:
    """The lines of a text, each without the brackets around it: rows of their own."""
    found: list[list[Piece]] = [[]]
    for piece in reading:
        first, *more = piece.split("\n") if isinstance(piece, str) else [piece]
        found[-1].append(first)
        found += [[each] for each in more]
    return [_bare([piece for piece in line if piece != ""]) for line in found]


def _bare(line: list[Piece]) -> Reading:
    if len(line) == 1 and isinstance(line[0], str):
        line = [line[0].strip()]
    first, last = (line[0], line[-1]) if line else ("", "")
    if isinstance(first, str) and isinstance(last, str) and first.startswith("("):
        whole = "".join(piece if isinstance(piece, str) else "x" for piece in line)
        if whole.endswith(")") and whole.count("(") == 1:
            line[0] = first[1:]
            line[-1] = str(line[-1])[:-1]
    return tuple(piece for piece in line if piece != "")


def label_of(reading: Reading) -> Reading | None:
    """The label of a line that is one with a value; None for other lines."""
    if len(reading) < 2 or not isinstance(reading[0], str) or is_text(reading):
        return None
    match = _LABEL.match(reading[0])
    return None if match is None else (match[1],)


def is_text(reading: Reading) -> bool:
    """Whether it says something: two words at least, or one with something else."""
    pieces = [piece if isinstance(piece, str) else "\0" for piece in reading]
    whole = "".join(pieces)
    if whole.startswith(_JOINTS) or whole.endswith(_JOINTS):
        return False
    words = _WORD.findall(whole)
    if _SHORT.fullmatch(whole):
        return True
    return len(words) > 1 or (len(words) == 1 and words[0].islower() and len(whole.split()) > 1)


def _size(choices: Sequence[Sequence[Reading]]) -> int:
    size = 1
    for each in choices:
        size *= len(each)
    return size


def _unique(readings: Sequence[Reading]) -> list[Reading]:
    return list(dict.fromkeys(readings))
