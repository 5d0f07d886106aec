"""Tools with a schema from another source: arguments are validated for the simple parts of the JSON
schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import msgspec

from nanobot.errors import ToolArgumentsError
from nanobot.text import quoted
from nanobot.tools.arguments import decode_object
from nanobot.tools.base import RawArgs

_SHOWN = 8


def parse_foreign(schema: Mapping[str, Any], text: str) -> RawArgs:
    """The arguments, validated as far as possible: required ones are present, closed objects have
    no extra keys, and simple types and enums match. The rest is validated by the author of the
    schema. A null that the schema does not allow counts as absent. Raises ToolArgumentsError.
    """
    given = decode_object(text)
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    required = schema.get("required")
    names = [entry for entry in required if isinstance(entry, str)] if _is_list(required) else []
    present = {name: v for name, v in given.items() if v is not None or _may_be_null(fields, name)}
    if schema.get("additionalProperties") is False:
        extra = [name for name in present if name not in fields]
        if extra:
            raise ToolArgumentsError(
                f"{', '.join(quoted(name, 60) for name in extra[:_SHOWN])}: no such argument; "
                f"allowed: {_listed(fields)}"
            )
    missing = [name for name in names if name not in present]
    if missing:
        raise ToolArgumentsError(f"{_listed(missing)}: required, but missing")
    for name, value in present.items():
        _check(name, fields.get(name), value)
    return RawArgs(present)


def _check(name: str, rule: Any, value: Any) -> None:
    if not isinstance(rule, dict):
        return
    kinds = _kinds(rule)
    if kinds and not any(_is(kind, value) for kind in kinds):
        raise ToolArgumentsError(f"{quoted(name, 60)}: expected {' or '.join(sorted(kinds))}")
    choices = rule.get("enum")
    if _is_list(choices) and choices and value not in choices:
        shown = msgspec.json.encode(list(choices)[:_SHOWN]).decode()
        raise ToolArgumentsError(f"{quoted(name, 60)}: must be one of {shown[:300]}")


def _kinds(rule: Mapping[str, Any]) -> set[str]:
    """The types in a rule; none if it contains an unknown one."""
    kind = rule.get("type")
    named = [kind] if isinstance(kind, str) else kind if _is_list(kind) else []
    types = {word for word in named if isinstance(word, str) and word in _PYTHON}
    return types if len(types) == len(named) else set()


_PYTHON: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _PYTHON[kind])


def _may_be_null(fields: Mapping[str, Any], name: str) -> bool:
    rule = fields.get(name)
    kinds = _kinds(rule) if isinstance(rule, dict) else set()
    return not kinds or "null" in kinds


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _listed(names: Any) -> str:
    shown = [quoted(name, 60) for name in names]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return (", ".join(shown[:_SHOWN]) or "none") + more
