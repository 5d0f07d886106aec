"""Servers' tools as shown to the model: valid names and schemas of limited size."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from nanobot.plugins.common.files.untrusted import visible

MAX_NAME = 64
"""The longest function name that every OpenAI-compatible endpoint accepts."""
MAX_DESCRIPTION = 1_000
MAX_SCHEMA_BYTES = 16_384
_MAX_DEPTH = 12
_MAX_TEXT = 500
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_OPEN: Mapping[str, Any] = {"type": "object", "properties": {}}
# Keywords of the protocol itself, for programs, or keywords that model providers reject at the
# root.
_DROPPED = frozenset({"$schema", "$id", "$comment", "examples", "title", "x-mcp-header"})
_NAMING = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "not", "enum"})


def allowed(name: str, globs: Iterable[str]) -> bool:
    """Whether a tool, by its server's name for it, is one of those."""
    return any(fnmatchcase(name, glob) for glob in globs)


def names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Maps a name for each tool, `mcp__SERVER__TOOL`, to the server's own name. A name that is too
    long is cut and made unique by a digest, so that it does not depend on the other tools.
    """
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
    """A description: one paragraph that names its server, without characters that are hidden from
    people.
    """
    short = " ".join(visible(text).split())
    if len(short) > MAX_DESCRIPTION:
        short = f"{short[:MAX_DESCRIPTION]}..."
    return f"[{server}] {short}".strip()


def schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of an object's arguments, of at most MAX_SCHEMA_BYTES; any arguments are accepted if
    the given schema is too large, too deep or invalid.
    """
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
    """`names`: the keys are the author's names, not keywords of JSON Schema."""
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
    if isinstance(value, float) and value - value != 0:  # JSON has neither infinity nor NaN
        return None
    return value
