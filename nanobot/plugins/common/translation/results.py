"""Translates the sentences in the result of an operation: the strings that its type declares as
`Sentence`, and the parts of a text that are nanobot's own (`OwnText`). All others are data and stay
as they are. A value may also be given as the JSON of its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, cast

import msgspec
from msgspec import inspect

from nanobot.plugins.common.translation import translated, translated_parts
from nanobot.text import OWN, SENTENCE, SHAPE, WORDS
from nanobot.texts import ENGLISH


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
def _fields(kind: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    """The fields of a struct that have sentences in them."""
    fields = cast("inspect.StructType", _info(kind)).fields
    return tuple(field for field in fields if _says(field.type))


def _extra(info: inspect.Type, name: str) -> Any:
    """What the declaration of a type says under that name."""
    return (info.extra or {}).get(name) if isinstance(info, inspect.Metadata) else None


def _says(info: inspect.Type) -> bool:
    """Whether there can be sentences within a value of that type."""
    seen: set[type[msgspec.Struct]] = set()
    left = [info]
    while left:
        match left.pop():
            case inspect.Metadata(extra=extra) if extra and {SENTENCE, OWN} & extra.keys():
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
            shape = _extra(info, SHAPE)
            return [inner if shape is None else _info(shape)]
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
        case inspect.Metadata() if _extra(info, SENTENCE):
            return translated(value, language) if isinstance(value, str) else value
        case inspect.Metadata():
            return _said(value, _inner(info)[0], language)
        case inspect.UnionType(types=types):
            fitting = next((each for each in types if _fits(value, each)), None)
            return value if fitting is None else _said(value, fitting, language)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return type(value)([_said(each, item, language) for each in value])
        case inspect.DictType(value_type=inner):
            return {key: _said(each, inner, language) for key, each in value.items()}
        case inspect.StructType(cls=kind) if isinstance(value, kind | dict):
            return _struct(value, kind, language)
        case _:
            return value


def _struct(value: Any, kind: type[msgspec.Struct], language: str) -> Any:
    """A struct, or its JSON, with its sentences in a language."""
    is_json = isinstance(value, dict)
    given = value if is_json else msgspec.structs.asdict(value)
    changed: dict[str, Any] = {}
    for field in _fields(kind if is_json else value.__class__):
        name = field.encode_name if is_json else field.name
        own = _extra(field.type, OWN)
        if name not in given:
            continue
        if own is None:
            changed[name] = _said(given[name], field.type, language)
        else:
            changed[name] = translated_parts(given[name], given[own], language)
            changed[own] = ()
    return {**value, **changed} if is_json else msgspec.structs.replace(value, **changed)


def data_in(value: Any, kind: Any) -> list[str]:
    """The strings in a value of this type that are no sentences, but data."""
    found: list[str] = []
    _collect(value, _info(kind), found)
    return found


def _collect(value: Any, info: inspect.Type, found: list[str]) -> None:
    match info:
        case inspect.Metadata():
            if not (_extra(info, SENTENCE) or _extra(info, WORDS)):
                _collect(value, _inner(info)[0], found)
        case inspect.UnionType(types=types):
            fitting = next((each for each in types if _fits(value, each)), None)
            _collect(value, fitting or inspect.AnyType(), found)
        case inspect.StructType(cls=kind) if isinstance(value, kind | dict):
            _collect_struct(value, kind, found)
        case _ if isinstance(value, dict | list | tuple):
            inner = next(iter(_inner(info)), inspect.AnyType())
            for each in value.values() if isinstance(value, dict) else value:
                _collect(each, inner, found)
        case inspect.LiteralType():
            return
        case _ if isinstance(value, str) and not isinstance(value, Enum):
            found.append(value)
        case _:
            return


def _collect_struct(value: Any, kind: type[msgspec.Struct], found: list[str]) -> None:
    is_json = isinstance(value, dict)
    given: Mapping[str, Any] = value if is_json else msgspec.structs.asdict(value)
    for field in cast("inspect.StructType", _info(kind if is_json else value.__class__)).fields:
        name = field.encode_name if is_json else field.name
        own = _extra(field.type, OWN)
        if own is not None:
            found += _others(given[name], given[own])
        elif name in given:
            _collect(given[name], field.type, found)


def _others(text: str, own: Iterable[tuple[int, int]]) -> Iterable[str]:
    """The lines of a text outside of nanobot's own words."""
    at = 0
    for start, end in (*own, (len(text), len(text))):
        yield from filter(None, map(str.strip, text[at:start].split("\n")))
        at = end


def _fits(value: Any, info: inspect.Type) -> bool:
    """Whether a value, or its JSON, is of that member of a union."""
    match info:
        case inspect.Metadata():
            return _fits(value, _inner(info)[0])
        case inspect.UnionType(types=types):
            return any(_fits(value, each) for each in types)
        case inspect.StructType(cls=kind, tag_field=field, tag=tag):
            if isinstance(value, dict):
                return field is None or value.get(field) == tag
            return isinstance(value, kind)
        case _:
            return isinstance(value, _PLAIN.get(type(info), ()))


_PLAIN: dict[type[inspect.Type], type] = {
    inspect.StrType: str,
    inspect.LiteralType: str,
    inspect.ListType: list,
    inspect.VarTupleType: tuple,
    inspect.DictType: dict,
}
