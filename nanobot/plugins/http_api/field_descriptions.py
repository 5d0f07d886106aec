"""The docstrings of fields, as descriptions in the OpenAPI document."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.inspect import StructType, multi_type_info


def add_descriptions(components: Mapping[str, dict[str, Any]], types: Sequence[Any]) -> None:
    """Describe the properties of the structs in these types by the docstrings of their fields."""
    for kind in _structs(multi_type_info(types)):
        whole_name = f"{kind.__module__}.{kind.__qualname__}"
        schema = components.get(whole_name) or components.get(kind.__name__) or {}
        properties = schema.get("properties", {})
        told = _told(kind)
        for field, name in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
            if field in told and name in properties:
                properties[name] = {"description": told[field]} | properties[name]


def _structs(information: object) -> Iterator[type[msgspec.Struct]]:
    """The structs in what msgspec says of types, each once."""
    found: set[type[msgspec.Struct]] = set()
    rest = [information]
    while rest:
        one = rest.pop()
        if isinstance(one, tuple | list):
            rest += one
        elif isinstance(one, StructType):
            if one.cls in found:
                continue
            found.add(one.cls)
            yield one.cls
            rest += one.fields
        elif isinstance(one, msgspec.Struct):
            rest += [getattr(one, field) for field in one.__struct_fields__]


@cache
def _told(kind: type[msgspec.Struct]) -> Mapping[str, str]:
    """The docstrings of the fields of a struct, by their names in the code."""
    told: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base is not msgspec.Struct and issubclass(base, msgspec.Struct):
            told |= _told_by(base)
    return told


def _told_by(kind: type) -> dict[str, str]:
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except OSError:  # it was made by a program, or its source is not installed
        return {}
    told = {}
    for field, after in pairwise(getattr(definition, "body", ())):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                told[name] = inspect.cleandoc(text)
            case _:
                pass
    return told
