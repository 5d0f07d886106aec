"""Simplifies tools' schemas for APIs that accept only part of JSON Schema."""

from __future__ import annotations

from typing import Any

_COMBINED = ("allOf", "anyOf", "oneOf")


def object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as one object with `properties`: alternatives at its top level are merged, and
    only properties that all of them require are required. A new dict, so it may be changed.
    """
    merged = {key: value for key, value in schema.items() if key not in _COMBINED}
    merged["type"] = "object"
    properties = dict(_table(schema.get("properties")))
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    for keyword in _COMBINED:
        branches = [_table(branch) for branch in _list(schema.get(keyword))]
        for branch in branches:
            properties = {**_table(branch.get("properties")), **properties}
        sets = [set(map(str, _list(branch.get("required")))) for branch in branches]
        shared = set().union(*sets) if keyword == "allOf" else set.intersection(*sets or [set()])
        required += sorted(shared.difference(required))
    merged["properties"] = properties
    required = [name for name in required if name in properties]
    if required:
        merged["required"] = required
    else:
        merged.pop("required", None)
    return merged


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
