"""Converts tools' schemas for Gemini's API, which accepts a subset of OpenAPI 3.0 without
references.

Based on https://ai.google.dev/api/caching#Schema. Unsupported parts are left out: the tool
validates its arguments itself anyway.
"""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.models.tool_schemas import object_schema

_DEEPEST = 12
_KEPT = frozenset(
    (
        *("title", "description", "minItems", "maxItems", "minProperties", "maxProperties"),
        *("minLength", "maxLength", "pattern", "minimum", "maximum"),
    )
)
_TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object"))
_FORMATS = {"string": ("date-time", "enum"), "integer": ("int32", "int64")}


def gemini_schema(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The parameters of a tool; None if it has none, because the API requires them to be left out
    then.
    """
    plain = _Translation(schema).object(schema, 0)
    return plain if plain.get("properties") else None


class _Translation:
    """One schema, with the definitions its references name."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root

    def object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """A schema with its alternatives merged, as required for a tool's parameters."""
        return self._object(object_schema(self._resolved(schema)), depth)

    def _any(self, schema: Any, depth: int) -> dict[str, Any]:
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return {"type": "object"} if isinstance(schema, dict) else {"type": "string"}
        schema = self._resolved(schema)
        if merged := schema.get("allOf"):
            return self._all(schema, merged, depth)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(branches, list) and branches:
            return self._either(schema, branches, depth)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            alternatives = [{**schema, "type": kind} for kind in kinds]
            return self._either({}, alternatives, depth)
        return self._single(schema, depth)

    def _all(self, schema: dict[str, Any], parts: Any, depth: int) -> dict[str, Any]:
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        resolved = [self._resolved(part) for part in parts if isinstance(part, dict)]
        if rest.get("type", "object") == "object" and all("properties" in p for p in resolved):
            return self._object(object_schema({**rest, "allOf": resolved}), depth)
        together: dict[str, Any] = {}
        for part in (*resolved, rest):
            together |= part
        return self._any(together, depth + 1)

    def _either(self, schema: dict[str, Any], branches: list[Any], depth: int) -> dict[str, Any]:
        real = [b for b in branches if not (isinstance(b, dict) and b.get("type") == "null")]
        options = [self._any(branch, depth + 1) for branch in real]
        plain = self._described(schema)
        if len(options) == 1:
            plain = {**options[0], **plain}
        elif options:
            plain["anyOf"] = options
        else:
            plain["type"] = "string"
        if len(real) < len(branches):
            plain["nullable"] = True
        return plain

    def _single(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        kind = schema.get("type")
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if kind not in _TYPES:
            kind = "string"
        plain = self._described(schema) | {"type": kind}
        if isinstance(values, list):
            texts = [value for value in values if isinstance(value, str) and value]
            if kind == "string" and texts:
                plain["enum"] = texts
            elif kind != "string":  # enums only support text
                listed = ", ".join(map(str, values))
                plain["description"] = f"{plain.get('description', '')} One of {listed}.".strip()
        if kind == "array":
            plain["items"] = self._any(schema.get("items", {}), depth + 1)
        if schema.get("format") in _FORMATS.get(str(kind), ()):
            plain["format"] = schema["format"]
        return plain

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        plain = self._described(schema) | {"type": "object"}
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            plain["properties"] = {
                name: self._any(value, depth + 1) for name, value in properties.items()
            }
            required = [n for n in schema.get("required") or () if n in plain["properties"]]
            if required:
                plain["required"] = required
        return plain

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The target of a reference within the schema, if it exists."""
        for _ in range(_DEEPEST):
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            target: Any = self._root
            for step in reference.removeprefix("#").strip("/").split("/"):
                step = step.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901
                target = target.get(step) if isinstance(target, dict) and step else target
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **beside} if isinstance(target, dict) else beside
        return {}

    def _described(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in schema.items() if key in _KEPT and value is not None}
