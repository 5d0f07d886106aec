"""Validates a value against a JSON Schema, for the keywords listed here.

A schema with another keyword is rejected when its case is read, so nothing goes unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_NUMBERS = ("minimum", "maximum")
_SIZES = ("minLength", "maxLength", "minItems", "maxItems")
_SCHEMAS = ("items", "additionalProperties")
_NOTES = ("$schema", "$id", "title", "description", "default", "examples")
KEYWORDS = (
    *("type", "properties", "required", "enum", "const", "pattern", "anyOf"),
    *(*_NUMBERS, *_SIZES, *_SCHEMAS, *_NOTES),
)
_DEEPEST = 50


def trouble(schema: Any, depth: int = 0) -> str:
    """Why a schema cannot be used; "" if it can."""
    if not isinstance(schema, dict):
        return "no JSON Schema object; write a table or JSON"
    if depth > _DEEPEST:
        return f"nested more than {_DEEPEST} deep; make it flatter"
    for key, value in schema.items():
        if why := _trouble_of(key, value, depth):
            return f"{key}: {why}"
    return ""


def _trouble_of(key: str, value: Any, depth: int) -> str:  # noqa: C901, PLR0911 - one for each kind
    if key not in KEYWORDS:
        return f"this keyword is not supported; supported are {', '.join(KEYWORDS)}"
    if key == "type":
        names = value if isinstance(value, list) else [value]
        good = bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)
        return "" if good else f"write one of {', '.join(_TYPES)}"
    if key == "properties":
        if not isinstance(value, dict):
            return "write a table"
        return next((why for each in value.values() if (why := trouble(each, depth + 1))), "")
    if key == "anyOf":
        if not isinstance(value, list) or not value:
            return "write a list of schemas"
        return next((why for each in value if (why := trouble(each, depth + 1))), "")
    if key in _SCHEMAS and not isinstance(value, bool):
        return trouble(value, depth + 1)
    if key in ("required", "enum") and not isinstance(value, list):
        return "write a list"
    if key in _SIZES and not (isinstance(value, int) and not isinstance(value, bool)):
        return "write a whole number"
    if key in _NUMBERS and (not isinstance(value, int | float) or isinstance(value, bool)):
        return "write a number"
    return _no_pattern(value) if key == "pattern" else ""


def _no_pattern(value: Any) -> str:
    try:
        re.compile(value)
    except (re.error, TypeError, RecursionError, OverflowError) as error:
        return f"not a regular expression: {error}"
    return ""


def misfit(value: Any, schema: Mapping[str, Any], at: str = "$") -> str:
    """Where and why a value does not match a valid schema; "" if it matches."""
    for key, wanted in schema.items():
        if why := _misfit(value, key, wanted, schema, at):
            return why
    return ""


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not equal to 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _misfit(  # noqa: PLR0911 - one for each kind
    value: Any, key: str, wanted: Any, schema: Mapping[str, Any], at: str
) -> str:
    if key == "type":
        names = wanted if isinstance(wanted, list) else [wanted]
        fits = any(_is(value, name) for name in names)
        return "" if fits else f"{at} is not of type {' or '.join(names)}"
    if key == "enum":
        fits = any(_same(value, each) for each in wanted)
        return "" if fits else f"{at} is none of the values in enum"
    if key == "const":
        return "" if _same(value, wanted) else f"{at} is not {wanted!r}"
    if key == "anyOf":
        fits = any(not misfit(value, each, at) for each in wanted)
        return "" if fits else f"{at} fits none of anyOf"
    if isinstance(value, dict):
        return _misfit_object(value, key, wanted, schema, at)
    if isinstance(value, list):
        return _misfit_array(value, key, wanted, at)
    if isinstance(value, str):
        return _misfit_string(value, key, wanted, at)
    if key in _NUMBERS and isinstance(value, int | float) and not isinstance(value, bool):
        fits = value >= wanted if key == "minimum" else value <= wanted
        return "" if fits else f"{at} is {value}, and {key} is {wanted}"
    return ""


def _misfit_object(
    value: dict[str, Any], key: str, wanted: Any, schema: Mapping[str, Any], at: str
) -> str:
    if key == "required":
        return next((f"{at}.{name} is missing" for name in wanted if name not in value), "")
    if key == "properties":
        inner = (
            misfit(value[name], each, f"{at}.{name}")
            for name, each in wanted.items()
            if name in value
        )
        return next((why for why in inner if why), "")
    if key == "additionalProperties" and wanted is not True:
        for name in value.keys() - schema.get("properties", {}).keys():
            why = (
                f"{at}.{name} is not allowed"
                if wanted is False
                else misfit(value[name], wanted, f"{at}.{name}")
            )
            if why:
                return why
    return ""


def _misfit_array(value: list[Any], key: str, wanted: Any, at: str) -> str:
    if key == "items" and wanted is not True:
        if wanted is False:
            return f"{at} is not empty" if value else ""
        inner = (misfit(each, wanted, f"{at}[{n}]") for n, each in enumerate(value))
        return next((why for why in inner if why), "")
    return _size(len(value), key, ("minItems", "maxItems"), wanted, f"{at} has {len(value)} items")


def _misfit_string(value: str, key: str, wanted: Any, at: str) -> str:
    if key == "pattern":
        return "" if re.search(wanted, value) else f"{at} does not match {wanted}"
    said = f"{at} has {len(value)} characters"
    return _size(len(value), key, ("minLength", "maxLength"), wanted, said)


def _size(size: int, key: str, keys: tuple[str, str], wanted: Any, said: str) -> str:
    if key == keys[0] and size < wanted:
        return f"{said}, fewer than {wanted}"
    if key == keys[1] and size > wanted:
        return f"{said}, more than {wanted}"
    return ""
