"""Tools of servers as the model may see them: names that fit, schemas that are bounded."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from nanobot.tools.untrusted import visible

MAX_NAME = 64
"""What every OpenAI-compatible endpoint takes of a function's name."""
MAX_DESCRIPTION = 1_000
MAX_SCHEMA_BYTES = 16_384
_MAX_DEPTH = 12
_MAX_TEXT = 500
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_OPEN: Mapping[str, Any] = {"type": "object", "properties": {}}
# Of the protocol's own kind, for programs, or refused at the root by providers of models.
_DROPPED = frozenset({"$schema", "$id", "$comment", "examples", "title", "x-mcp-header"})
_NAMING = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "not", "enum"})


def allowed(name: str, globs: Iterable[str]) -> bool:
    """Whether a tool, by the name its server gives it, is one of those."""
    return any(fnmatchcase(name, glob) for glob in globs)


def names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """A name for each tool, `mcp__SERVER__TOOL`, to the server's own. What does not fit is cut and
    told apart by a digest, so that a tool has the same name whatever else is listed."""
    given: dict[str, str] = {}
    for tool in dict.fromkeys(tools):
        plain = f"mcp__{server}__{tool}"
        name = _UNFIT.sub("_", plain)
        if name != plain or len(name) > MAX_NAME:
            mark = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            name = f"{name[: MAX_NAME - 9]}_{mark}"
        given.setdefault(name, tool)
    return given


def described(server: str, text: str) -> str:
    """A description: one paragraph, what hides from people taken out, its server named."""
    short = " ".join(visible(text).split())
    if len(short) > MAX_DESCRIPTION:
        short = f"{short[:MAX_DESCRIPTION]}..."
    return f"[{server}] {short}".strip()


def schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of an object's arguments, of at most MAX_SCHEMA_BYTES; open to anything where the
    given one is too large or too deep, or is none."""
    rules = _sanitised(given, 0)
    if not isinstance(rules, dict) or rules.get("type", "object") != "object":
        return dict(_OPEN)
    rules = {key: value for key, value in rules.items() if key not in _NOT_AT_ROOT}
    fields = rules.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    rules |= {"type": "object", "properties": {k: _rule(v) for k, v in fields.items()}}
    required = rules.pop("required", None)
    if isinstance(required, list):
        rules["required"] = [name for name in required if isinstance(name, str)]
    if len(msgspec.json.encode(rules)) > MAX_SCHEMA_BYTES:
        return dict(_OPEN)
    return rules


def _rule(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _sanitised(value: Any, depth: int, *, names: bool = False) -> Any:
    """`names`: the keys are names of the author's, not words of JSON Schema."""
    if depth > _MAX_DEPTH:
        return {}
    if isinstance(value, str):
        return visible(value)[:_MAX_TEXT]
    if isinstance(value, Mapping):
        return {
            visible(str(key))[:_MAX_TEXT]: _sanitised(inner, depth + 1, names=key in _NAMING)
            for key, inner in value.items()
            if names or key not in _DROPPED
        }
    if isinstance(value, list | tuple):
        return [_sanitised(inner, depth + 1) for inner in value]
    if isinstance(value, float) and value - value != 0:  # JSON has no infinity and no NaN
        return None
    return value
