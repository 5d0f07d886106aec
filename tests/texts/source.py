"""The code as syntax trees: its functions, constants and classes, and what a name means where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from tests import syntax
from tests.syntax import ROOT

_ROOTS = (ROOT, ROOT / "channels")
_FOLDERS = (ROOT / "nanobot", ROOT / "channels" / "nanobot_channels")
_NOT_SHOWN = ("nanobot/plugins/kit/", "nanobot/texts/", "nanobot/plugins/common/translation/")
_SHOWN = ("nanobot/plugins/kit/__init__.py",)

_BARE = (ast.expr_context, ast.operator, ast.Name, ast.Constant)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(msgspec.Struct, frozen=True):
    """A file of the code. `imports`: the module and the name behind each imported name."""

    name: str
    path: str
    tree: ast.Module
    imports: dict[str, tuple[str, str]]
    constants: dict[str, list[ast.expr]]
    functions: dict[str, Function]
    classes: dict[str, ast.ClassDef]


class Place(msgspec.Struct, frozen=True):
    """Where an expression is: its module, the class around it, and the functions, outermost
    first."""

    module: Module
    within: ast.ClassDef | None = None
    functions: tuple[Function, ...] = ()


class Found(msgspec.Struct, frozen=True):
    """A function, class or constant that a name refers to, with its place."""

    node: ast.AST
    place: Place


@cache
def modules() -> dict[str, Module]:
    """All files of the code, by module name."""
    files = [file for folder in _FOLDERS for file in sorted(folder.rglob("*.py"))]
    read = [_module(file) for file in files]
    return {
        each.name: each
        for each in read
        if each.path in _SHOWN or not each.path.startswith(_NOT_SHOWN)
    }


def _module(file: Path) -> Module:
    root = _ROOTS[1] if file.is_relative_to(_ROOTS[1]) else ROOT
    parts = file.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    tree = syntax.tree(file)
    module = Module(name, file.relative_to(ROOT).as_posix(), tree, _imports(tree), {}, {}, {})
    for node in tree.body:
        if isinstance(node, Function):
            module.functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            module.classes[node.name] = node
        else:
            for name_, value in assigned(node):
                module.constants.setdefault(name_, []).append(value)
    return module


def _imports(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """The module and the name behind each imported name; the name of a whole module is empty."""
    imports: dict[str, tuple[str, str]] = {}
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports |= {each.asname or each.name: (node.module, each.name) for each in node.names}
        elif isinstance(node, ast.Import):
            imports |= {each.asname: (each.name, "") for each in node.names if each.asname}
    return imports


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements, of functions and blocks too."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.stmt):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                left += inner


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement gives a value, and the values."""
    match node:
        case (
            ast.NamedExpr(target=ast.Name(id=name), value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            yield name, value
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _targets(target, value)
        case _:
            return


def _targets(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, each in zip(target.elts, value.elts, strict=False):
            if isinstance(one, ast.Name):
                yield one.id, each


def lookup(module: Module, name: str, depth: int = 0) -> Found | None:
    """The function, class or constant of that name in a module, through its imports."""
    if depth > 6:
        return None
    if name in module.functions:
        return Found(module.functions[name], Place(module))
    if name in module.classes:
        return Found(module.classes[name], Place(module))
    if name in module.imports:
        source, inner = module.imports[name]
        other = modules().get(source)
        return lookup(other, inner, depth + 1) if other is not None and inner else None
    return None


def constant(module: Module, name: str, depth: int = 0) -> tuple[list[ast.expr], Place] | None:
    """The values of a constant of a module, through its imports."""
    if name in module.constants:
        return module.constants[name], Place(module)
    if name in module.imports and depth < 6:
        source, inner = module.imports[name]
        other = modules().get(source)
        return constant(other, inner, depth + 1) if other is not None else None
    return None


def called(place: Place, function: ast.expr) -> Found | None:
    """The function or class behind what is called."""
    if isinstance(function, ast.Name):
        for outer in reversed(place.functions):
            for node in outer.body:
                if isinstance(node, Function) and node.name == function.id:
                    return Found(node, msgspec.structs.replace(place, functions=place.functions))
        return lookup(place.module, function.id)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = function.value.id
        if owner in ("self", "cls"):
            return _method(place, function.attr)
        inside = _declared(place, owner)
        if inside is None and owner in place.module.classes:
            inside = Place(place.module, place.module.classes[owner])
        if inside is not None:
            return _method(inside, function.attr)
        source = place.module.imports.get(owner)
        other = modules().get(".".join(part for part in source if part)) if source else None
        return lookup(other, function.attr) if other is not None else None
    return None


def _declared(place: Place, name: str) -> Place | None:
    """The class of a parameter, as it is declared."""
    for function in reversed(place.functions):
        arguments = function.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if each.arg != name or not isinstance(each.annotation, ast.Name):
                continue
            found = lookup(place.module, each.annotation.id)
            if found is not None and isinstance(found.node, ast.ClassDef):
                return Place(found.place.module, found.node)
    return None


def _method(place: Place, name: str) -> Found | None:
    if place.within is None:
        return None
    for node in place.within.body:
        if isinstance(node, Function) and node.name == name:
            return Found(node, Place(place.module, place.within))
    for base in place.within.bases:
        found = called(place, base) if isinstance(base, ast.Name) else None
        if found is not None and isinstance(found.node, ast.ClassDef):
            return _method(Place(found.place.module, found.node), name)
    return None


def every(module: Module) -> Iterator[tuple[ast.AST, Place]]:
    """All calls, functions and classes of a module with their places."""
    left: list[tuple[ast.AST, Place]] = [(module.tree, Place(module))]
    while left:
        node, place = left.pop()
        inner = place
        if isinstance(node, ast.Call):
            yield node, place
        elif isinstance(node, ast.ClassDef):
            yield node, place
            inner = Place(module, node)
        elif isinstance(node, Function):
            yield node, place
            inner = Place(module, place.within, (*place.functions, node))
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                if not isinstance(value, _BARE):
                    left.append((value, inner))
            elif isinstance(value, list):
                left += [(each, inner) for each in value if isinstance(each, ast.AST)]
