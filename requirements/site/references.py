"""Reference pages made from the code: HTTP requests and their types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

_Json: TypeAlias = Mapping[str, Any]


def http_page(document: _Json) -> str:
    """Every request that the OpenAPI document describes, with its parameters and its answer."""
    lines = [
        "# HTTP",
        "",
        "Every request that the gateway answers, made from its OpenAPI description"
        " ([openapi.json](../openapi.json)). [The page](../web.md#who-may-ask) explains who may"
        " ask; [HTTP types](http-types.md) lists the fields of bodies and answers.",
        "",
    ]
    for path, methods in document["paths"].items():
        for method, request in methods.items():
            lines += _request(path, method, request)
    return "\n".join(lines)


def types_page(document: _Json) -> str:
    """Every schema of the OpenAPI document with its fields."""
    lines = ["# HTTP types", "", "The types that [HTTP requests](http.md) send and receive.", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += [f"## {name}", "", *_paragraph(schema.get("description", ""))]
        fields = schema.get("properties", {})
        required = schema.get("required", ())
        if fields:
            lines += ["| Field | Type | Meaning |", "|---|---|---|"]
            for field, rule in fields.items():
                optional = "" if field in required else " (optional)"
                meaning = _cell(rule.get("description", ""))
                lines.append(
                    f"| `{field}`{optional} | {_type(rule, 'http-types.md')} | {meaning} |"
                )
            lines.append("")
        else:
            lines += [f"Type: {_type(schema, 'http-types.md')}", ""]
    return "\n".join(lines)


def _request(path: str, method: str, request: _Json) -> list[str]:
    lines = [f"### `{method.upper()} {path}`", ""]
    lines += _paragraph(request.get("summary", "")) + _paragraph(request.get("description", ""))
    parameters = [each for each in request.get("parameters", ()) if "name" in each]
    if parameters:
        lines += ["| Parameter | In | Type | Meaning |", "|---|---|---|---|"]
        for each in parameters:
            optional = "" if each.get("required") else " (optional)"
            kind = _type(each.get("schema", {}), "http-types.md")
            meaning = _cell(each.get("description", ""))
            lines.append(f"| `{each['name']}`{optional} | {each['in']} | {kind} | {meaning} |")
        lines.append("")
    for media, content in request.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body (`{media}`): {_type(content.get('schema', {}), 'http-types.md')}", ""]
    for status, answer in request.get("responses", {}).items():
        for media, content in answer.get("content", {}).items():
            kind = _type(content.get("schema", {}), "http-types.md")
            lines += [f"Answer {status} (`{media}`): {kind}", ""]
    return lines


def _type(schema: _Json, page: str) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}]({page}#{_anchor(name)})"
    choices = [schema["const"]] if "const" in schema else schema.get("enum", ())
    either = schema.get("anyOf") or schema.get("oneOf") or ()
    if choices or either:
        shown = [f"`{value}`" for value in choices] or [_type(each, page) for each in either]
        return (", " if choices else " or ").join(dict.fromkeys(shown))
    kind = schema.get("type", "any value")
    if kind == "array" and schema.get("items"):
        return f"list of {_type(schema['items'], page)}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _anchor(name: str) -> str:
    return re.sub(r"[^\w\- ]", "", name.lower()).strip().replace(" ", "-")


def _paragraph(text: str) -> list[str]:
    return [text.replace("<", "&lt;"), ""] if text else []


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
