"""Writes the types of the HTTP API for the page's checks, from the gateway's own OpenAPI document.

    api_types.py > gateway.d.ts

`Reads` and `Changes` are the operations by name, those of plugins included, `Gets` and `Posts` the
other routes by path, and `SessionGets` and `SessionPosts` those below one conversation by their
last part: what each `takes` and `gives`. Below them are the schemas of the document, each under its
own name.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.http_api.descriptions import SERVED_WITH_OTHERS
from nanobot.plugins.http_api.openapi import description
from nanobot.plugins.page.descriptions import DESCRIPTIONS

_Json: TypeAlias = Mapping[str, Any]
_PRIMITIVES = {
    None: "unknown",
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_CONVERSATION = "/api/sessions/{key}/"
_TAKES_NOTHING = "Record<string, never>"


def _name(text: str) -> str:
    return text.rsplit("/", 1)[-1].replace(".", "_")


def _type(schema: _Json) -> str:
    """A schema as a type."""
    match schema:
        case {"$ref": reference}:
            return _name(reference)
        case {"const": value}:
            return json.dumps(value)
        case {"enum": values}:
            return " | ".join(json.dumps(value) for value in values)
        case {"anyOf": schemas}:
            return " | ".join(dict.fromkeys(_type(each) for each in schemas))
    return _of_kind(schema)


def _of_kind(schema: _Json) -> str:
    """One that names its type: without one, it may be anything."""
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    if kind != "array":
        return _PRIMITIVES[kind]
    if "prefixItems" in schema:
        return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
    return f"({_type(schema.get('items', {}))})[]"


def _object(schema: _Json) -> str:
    if "properties" in schema:
        return _fields(schema["properties"], schema.get("required", ()))
    values = schema.get("additionalProperties")
    return f"Record<string, {_type(values) if isinstance(values, Mapping) else 'unknown'}>"


def _fields(properties: Mapping[str, _Json], required: Any) -> str:
    fields = [
        f"{json.dumps(name)}{'' if name in required else '?'}: {_type(schema)};"
        for name, schema in properties.items()
    ]
    return "{ " + " ".join(fields) + " }"


def _takes(operation: _Json) -> str:
    """What is given with it, in the query or in the body."""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None and body["schema"].get("properties", True):
        return _type(body["schema"])
    query = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    if not query:
        return _TAKES_NOTHING
    required = [each["name"] for each in query if each["required"]]
    return _fields({each["name"]: each["schema"] for each in query}, required)


def _gives(operation: _Json) -> str:
    content = operation["responses"].get("200", {}).get("content", {})
    return (
        _type(content["application/json"]["schema"]) if "application/json" in content else "never"
    )


def _table(name: str, rows: Mapping[str, _Json]) -> Iterator[str]:
    yield f"export interface {name} {{"
    for key, operation in rows.items():
        yield f"  /** {operation['summary']} */"
        takes, gives = _takes(operation), _gives(operation)
        yield f"  {json.dumps(key)}: {{ takes: {takes}; gives: {gives} }};"
    yield "}"


def _lines(document: _Json) -> Iterator[str]:
    tables: dict[str, dict[str, _Json]] = {
        name: {} for name in ("Reads", "Changes", "Gets", "Posts", "SessionGets", "SessionPosts")
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            reads = method == "get"
            if "x-least-role" in operation:
                key = path.removeprefix("/api/").replace("/", " ")
                tables["Reads" if reads else "Changes"][key] = operation
            elif path.startswith(_CONVERSATION):
                key = path.removeprefix(_CONVERSATION)
                tables["SessionGets" if reads else "SessionPosts"][key] = operation
            elif "{" not in path and path.startswith("/api/"):
                tables["Gets" if reads else "Posts"][path] = operation
    for name, rows in tables.items():
        yield from _table(name, rows)
    said = document["paths"]["/ws"]["get"]["x-websocket"]
    yield f"export type Socket = {_fields(said, list(said))};"
    for name, schema in document["components"]["schemas"].items():
        about = re.sub(r"\s+", " ", schema.get("description", "")).replace("*/", "* /")
        yield f"/** {about} */"
        yield f"export type {_name(name)} = {_type(schema)};"


def main() -> None:
    """Write the types to standard output."""
    document = description(
        [*OPERATIONS, *plugin_operations()],
        "",
        cookie="",
        also=(*SERVED_WITH_OTHERS, *DESCRIPTIONS),
    )
    sys.stdout.write("\n".join(_lines(document)) + "\n")


if __name__ == "__main__":
    main()
