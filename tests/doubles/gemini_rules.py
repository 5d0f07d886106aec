"""What Gemini's generateContent refuses.

After https://ai.google.dev/api/generate-content, .../api/caching#Schema and
.../gemini-api/docs/thought-signatures; the words are those that it was seen to send.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]

SIGNATURES = ("c2lnbmVkIHRob3VnaHQ=", "skip_thought_signature_validator")
_SCHEMA = frozenset(
    (
        *("type", "format", "title", "description", "nullable", "enum", "items", "properties"),
        *("required", "minItems", "maxItems", "minProperties", "maxProperties", "minLength"),
        *("maxLength", "pattern", "minimum", "maximum", "anyOf", "propertyOrdering", "default"),
        "example",
    )
)
_WRITTEN = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "function_declarations": "functionDeclarations",
    "inline_data": "inlineData",
    "mime_type": "mimeType",
    "system_instruction": "systemInstruction",
    "tool_config": "toolConfig",
    "generation_config": "generationConfig",
}
_DATA = frozenset(("args", "response", "parameters"))
_FORMATS = {"string": {"date-time", "enum"}, "integer": {"int32", "int64"}}
_FIELDS = frozenset(
    (
        *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig"),
        *("safetySettings", "cachedContent"),
    )
)
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")


def problem_with(body: Body, model: str) -> str | None:
    """Why the API answers 400; None if it does not."""
    return next(_problems(_plain(body), model), None)


def _plain(value: Any) -> Any:
    """Names of fields may be written with lines, too, but not within arguments and schemas."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        _WRITTEN.get(name, name): inner if name in _DATA else _plain(inner)
        for name, inner in value.items()
    }


def _problems(body: Body, model: str) -> Iterator[str]:
    for name in sorted(body.keys() - _FIELDS):
        yield f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    thinking = body.get("generationConfig", {}).get("thinkingConfig", {})
    if {"thinkingLevel", "thinkingBudget"} <= thinking.keys():
        yield "You can only set only one of thinking budget and thinking level."
    if "thinkingLevel" in thinking and re.match(r"gemini-[12]\.", model):
        yield "Thinking level is not supported for this model."
    contents = body.get("contents") or []
    if not contents:
        yield "* GenerateContentRequest.contents: contents is not specified"
        return
    for number, content in enumerate(contents):
        yield from _content_problems(f"contents[{number}]", content)
    if contents[-1]["role"] != "user":
        yield "Please ensure that multiturn requests end with a user role."
    yield from _turn_problems(contents)
    if not re.match(r"gemini-[12]\.", model):
        yield from _signature_problems(contents)
    for tool in body.get("tools", []):
        for number, declaration in enumerate(tool.get("functionDeclarations", [])):
            yield from _declaration_problems(f"function_declarations[{number}]", declaration)


def _content_problems(where: str, content: Body) -> Iterator[str]:
    if content["role"] not in ("user", "model"):
        yield f"Please use a valid role: user, model ({where})."
    if not content["parts"]:
        yield f"{where}.parts: must not be empty."
    for part in content["parts"]:
        if part.get("text") == "" and len(part) == 1:
            yield f"Unable to submit request because it must have a text parameter ({where})."
        if not part.keys() & {"text", "functionCall", "functionResponse", "inlineData"}:
            yield f"{where}.parts: required oneof field 'data' must have one initialized field"


def _turn_problems(contents: list[Body]) -> Iterator[str]:
    """Behind the calls comes one content with as many results, and results come only there."""
    for number, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        answered = _results(contents[number + 1]) if number + 1 < len(contents) else []
        if calls and len(answered) != len(calls):
            yield (
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        before = contents[number - 1]["parts"] if number else []
        if _results(content) and not any("functionCall" in part for part in before):
            yield (
                "Please ensure that function response turn comes immediately after a function "
                "call turn."
            )


def _results(content: Body) -> list[Body]:
    return [part for part in content["parts"] if "functionResponse" in part]


def _signature_problems(contents: list[Body]) -> Iterator[str]:
    """Of the current turn, the first call of each answer carries its signature."""
    begun = max(
        (n for n, c in enumerate(contents) if c["role"] == "user" and not _results(c)), default=0
    )
    for content in contents[begun:]:
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and calls[0].get("thoughtSignature") not in SIGNATURES:
            yield (
                "Function call is missing a thought_signature in functionCall parts. This is "
                f"required for tools to work correctly: {calls[0]['functionCall']['name']}"
            )


def _declaration_problems(where: str, declaration: Body) -> Iterator[str]:
    if not _NAME.fullmatch(declaration["name"]):
        yield f"{where}.name: Invalid function name."
    schema = declaration.get("parameters")
    if schema is not None:
        if schema.get("type", "").lower() != "object" or schema.get("properties") == {}:
            yield f"{where}.parameters.properties: should be non-empty for OBJECT type"
        yield from _schema_problems(f"{where}.parameters", schema)


def _schema_problems(where: str, schema: Body) -> Iterator[str]:
    for keyword in sorted(schema.keys() - _SCHEMA):
        yield f"Unknown name \"{keyword}\" at '{where}': Cannot find field."
    kind = str(schema.get("type", "")).lower()
    if not kind and "anyOf" not in schema:
        yield f"{where}.type: must be specified"
    if "enum" in schema and kind != "string":
        yield f"{where}.enum: only allowed for STRING type"
    if any(not value for value in schema.get("enum", ())):
        yield f"{where}.enum: cannot be empty"
    if kind == "array" and "items" not in schema:
        yield f"{where}.items: missing field."
    allowed = _FORMATS.get(kind, {"float", "double"})
    if "format" in schema and schema["format"] not in allowed:
        yield f"{where}.format: only 'enum' and 'date-time' are supported for STRING type"
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in properties:
            yield f"{where}.required[0]: property is not defined"
    inner = [*properties.items(), *enumerate(schema.get("anyOf", ()))]
    inner += [("items", schema["items"])] if "items" in schema else []
    for name, value in inner:
        yield from _schema_problems(f"{where}.{name}", value)
