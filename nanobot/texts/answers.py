"""Translates the sentences in the result of an operation: the strings that its type declares as
`Sentence`. All others are data and stay as they are."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Any, cast

import msgspec
from msgspec import inspect

from nanobot.texts.languages import ENGLISH, translated


def in_language(value: Any, kind: Any, language: str) -> Any:
    """A value of this type with its sentences in a language."""
    if language == ENGLISH or value is None:
        return value
    info = _info(kind)
    return _said(value, info, language) if _says(info) else value


@cache
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, inspect.Type]:
    """The fields of a struct that have sentences in them."""
    fields = cast("inspect.StructType", _info(kind)).fields
    return {field.name: field.type for field in fields if _says(field.type)}


def _says(info: inspect.Type) -> bool:
    """Whether there can be sentences within a value of that type."""
    seen: set[type[msgspec.Struct]] = set()
    left = [info]
    while left:
        match left.pop():
            case inspect.Metadata(extra=extra) if extra and extra.get("sentence"):
                return True
            case inspect.StructType(cls=kind, fields=fields) if kind not in seen:
                seen.add(kind)
                left += [field.type for field in fields]
            case other:
                left += _inner(other)
    return False


def _inner(info: inspect.Type) -> list[inspect.Type]:
    match info:
        case inspect.Metadata(type=inner):
            return [inner]
        case inspect.UnionType(types=types):
            return list(types)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [item]
        case inspect.TupleType(item_types=items):
            return list(items)
        case inspect.DictType(value_type=inner):
            return [inner]
        case _:
            return []


def _said(value: Any, info: inspect.Type, language: str) -> Any:  # noqa: PLR0911 - one a kind
    match info:
        case inspect.Metadata(extra=extra) if extra and extra.get("sentence"):
            return translated(value, language) if isinstance(value, str) else value
        case inspect.Metadata(type=inner):
            return _said(value, inner, language)
        case inspect.UnionType(types=types):
            fitting = next((each for each in types if _fits(value, each)), None)
            return value if fitting is None else _said(value, fitting, language)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return type(value)([_said(each, item, language) for each in value])
        case inspect.DictType(value_type=inner):
            return {key: _said(each, inner, language) for key, each in value.items()}
        case inspect.StructType() if isinstance(value, msgspec.Struct):
            changed = {
                name: _said(getattr(value, name), kind, language)
                for name, kind in _fields(type(value)).items()
            }
            return msgspec.structs.replace(value, **changed) if changed else value
        case _:
            return value


def data_in(value: Any, kind: Any) -> list[str]:
    """The strings in a value of this type that are no sentences, but data."""
    found: list[str] = []
    _collect(value, _info(kind), found)
    return found


def _collect(value: Any, info: inspect.Type, found: list[str]) -> None:
    match info:
        case inspect.Metadata(extra=extra, type=inner):
            if not (extra and extra.get("sentence")):
                _collect(value, inner, found)
        case inspect.UnionType(types=types):
            fitting = next((each for each in types if _fits(value, each)), None)
            _collect(value, fitting or inspect.AnyType(), found)
        case inspect.StructType() if isinstance(value, msgspec.Struct):
            for field in cast("inspect.StructType", _info(type(value))).fields:
                _collect(getattr(value, field.name), field.type, found)
        case _ if isinstance(value, dict | list | tuple):
            inner = next(iter(_inner(info)), inspect.AnyType())
            for each in value.values() if isinstance(value, dict) else value:
                _collect(each, inner, found)
        case _ if isinstance(value, str) and not isinstance(value, Enum):
            found.append(value)
        case _:
            return


def _fits(value: Any, info: inspect.Type) -> bool:
    """Whether a value is of that member of a union."""
    match info:
        case inspect.Metadata(type=inner):
            return _fits(value, inner)
        case inspect.StructType(cls=kind):
            return isinstance(value, kind)
        case _:
            return isinstance(value, _PLAIN.get(type(info), ()))


_PLAIN: dict[type[inspect.Type], type] = {
    inspect.StrType: str,
    inspect.ListType: list,
    inspect.VarTupleType: tuple,
    inspect.DictType: dict,
}
