"""Turns the model's text into a tool's arguments, or into an error that tells the model how to mend
the call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from nanobot.errors import ToolArgumentsError
from nanobot.text import pattern, quoted

MAX_BYTES = 1_048_576
MAX_DEPTH = 32

Args = TypeVar("Args", bound=msgspec.Struct)

_BYTE = pattern(r" ?\(byte (\d+)\)$")
_AT = pattern(r"^(?P<what>.*?)(?: - at `\$(?P<where>[^`]*)`)?$", re.DOTALL)
_EXPECTED = pattern(r"^Expected `(?P<want>[^`]+)`(?P<bound>.*?)(?:, got `(?P<got>[^`]+)`)?$")
_WORD = pattern(r"[a-z]+")
_EXPECTED_KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_GIVEN = {**_EXPECTED_KINDS, "int": "number"}


def parse_arguments(args: type[Args], text: str) -> Args:
    """Validated arguments. Only ToolArgumentsError is raised, whatever the text is.

    An empty text counts as `{}`, and null for an optional field as absent.
    """
    return _convert(args, decode_object(text))


def decode_object(text: str) -> dict[str, Any]:
    """The JSON object in a text, limited in size and depth; an empty text is `{}`. Raises
    ToolArgumentsError.
    """
    if not text.strip():
        return {}
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolArgumentsError(
            f"the arguments hold half a character (a lone surrogate) at character {error.start}"
        ) from error
    if len(data) > MAX_BYTES:
        raise ToolArgumentsError(
            f"the arguments are {len(data):,} bytes long; at most {MAX_BYTES:,} are taken: "
            "do it in several smaller calls"
        )
    try:
        value = msgspec.json.decode(data)
    except msgspec.ValidationError as error:
        raise ToolArgumentsError(f"the arguments hold a {str(error).lower()}") from error
    except msgspec.DecodeError as error:
        raise ToolArgumentsError(_where_it_broke(str(error), data)) from error
    except RecursionError as error:
        raise _too_deep() from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ToolArgumentsError(f"the arguments must be a JSON object, not {_kind(value)}")
    _check_depth(value)
    return value


def _where_it_broke(message: str, data: bytes) -> str:
    match = _BYTE.search(message)
    if match is None:
        end = data[-60:].decode("utf-8", "replace")
        half = " (or a lone \\u surrogate: write the character itself)" if b"\\ud" in data else ""
        return f"the arguments are cut-off JSON: they end in {quoted(end)}{half}. Send them whole."
    at = int(match[1])
    what = _BYTE.sub("", message).removeprefix("JSON is malformed: ")
    before = data[max(at - 40, 0) : at].decode("utf-8", "replace")
    after = data[at : at + 20].decode("utf-8", "replace")
    hint = ""
    if data[at : at + 1] < b" " and before.count('"') % 2:
        hint = ' Line breaks and tabs inside a string are written "\\n" and "\\t".'
    return (
        f"the arguments are not valid JSON: {what} at byte {at}, "
        f"after {quoted(before)}, at {quoted(after)}.{hint}"
    )


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(item.values())
            elif isinstance(item, list):
                deeper.extend(item)
        if not deeper:
            return
        level = deeper
    raise _too_deep()


def _too_deep() -> ToolArgumentsError:
    return ToolArgumentsError(f"the arguments are nested more than {MAX_DEPTH} levels deep")


@lru_cache(512)
def _fields(args: type[msgspec.Struct]) -> Mapping[str, msgspec.structs.FieldInfo]:
    """Cached, because evaluating annotations takes longer than most calls."""
    return {field.encode_name: field for field in msgspec.structs.fields(args)}


def _convert(args: type[Args], given: dict[str, Any]) -> Args:
    fields = _fields(args)
    extra = [name for name in given if name not in fields]
    if extra:
        raise ToolArgumentsError(
            f"{', '.join(quoted(name, 60) for name in extra[:5])}: no such argument; "
            f"allowed: {', '.join(fields) or 'none'}"
        )
    present = {
        name: value for name, value in given.items() if value is not None or fields[name].required
    }
    missing = [name for name, field in fields.items() if field.required and name not in present]
    if missing:
        raise ToolArgumentsError(f"{', '.join(missing)}: required, but missing")
    try:
        return msgspec.convert(present, args)
    except msgspec.ValidationError as error:
        raise ToolArgumentsError(_readable(str(error))) from error


def _readable(message: str) -> str:
    at = _AT.match(message)
    what, where = (message, "") if at is None else (at["what"], at["where"] or "")
    name = where.removeprefix(".") or "arguments"
    expected = _EXPECTED.match(what)
    if expected is None:
        return f"{name}: {what[:1].lower()}{what[1:]}"
    given = f", got {_in_json(expected['got'], _GIVEN)}" if expected["got"] else ""
    return (
        f"{name}: expected {_in_json(expected['want'], _EXPECTED_KINDS)}{expected['bound']}{given}"
    )


def _in_json(kinds: str, names: dict[str, str]) -> str:
    return _WORD.sub(lambda word: names.get(word[0], word[0]), kinds).replace(" | ", " or ")


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        return "a string"
    return "a boolean" if isinstance(value, bool) else "a number"
