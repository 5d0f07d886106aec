"""The JSON Schema of a tool's arguments: flat, closed, and byte-identical every time."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from nanobot.errors import UsageError

_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_DROPPED = ("title", "discriminator")


def parameters_of(args: type[Any]) -> dict[str, Any]:
    """The schema of a msgspec Struct, without references and titles.

    An optional field of type `X | None` is written as X: null from the model counts as absent.
    Raises UsageError for types that JSON Schema, or a flat schema, cannot express.
    """
    if args not in _schemas:
        _schemas[args] = msgspec.json.encode(_flat(args))
    # A new copy each time, which callers may modify.
    flat: dict[str, Any] = msgspec.json.decode(_schemas[args])
    return flat


_schemas: WeakKeyDictionary[type[Any], bytes] = WeakKeyDictionary()


def _flat(args: type[Any]) -> dict[str, Any]:
    try:
        schema = msgspec.json.schema(args)
    except TypeError as error:
        raise UsageError(f"{args.__name__} has no JSON schema: {error}") from error
    definitions = schema.pop("$defs", {})
    flat = _inline(schema, definitions, ())
    if flat.get("type") != "object" or "properties" not in flat:
        raise UsageError(f"{args.__name__} is not a struct of named fields")
    flat.pop("description", None)
    return flat


def _inline(
    node: dict[str, Any], definitions: dict[str, Any], within: tuple[str, ...]
) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is not None:
        name = reference.rpartition("/")[2]
        if name in within:
            raise UsageError(f"{name} contains itself: a tool's arguments must be flat")
        others = {key: value for key, value in node.items() if key != "$ref"}
        return _inline({**definitions[name], **others}, definitions, (*within, name))
    flat = {
        key: _inline_value(key, value, definitions, within)
        for key, value in node.items()
        if key not in _DROPPED
    }
    if "properties" in flat:
        flat.setdefault("required", [])
        flat["additionalProperties"] = False
    return _without_null(flat)


def _inline_value(
    key: str, value: Any, definitions: dict[str, Any], within: tuple[str, ...]
) -> Any:
    if key == "properties":
        return {name: _inline(field, definitions, within) for name, field in value.items()}
    if key in _LISTS:
        return [_inline(choice, definitions, within) for choice in value]
    if isinstance(value, dict) and key in ("items", "additionalProperties"):
        return _inline(value, definitions, within)
    return value


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    if node.get("default", ...) is not None or "anyOf" not in node:
        return node
    choices = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    if len(choices) == 1:
        return {**choices[0], **rest}
    return {"anyOf": choices, **rest}
