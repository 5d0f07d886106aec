"""Checks the types of a platform's data, which nanobot does not trust."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Shape = TypeVar("_Shape")


class BadEvent(ValueError):
    """A required field is missing, or has a type that the platform does not document."""


def shaped(value: object, kind: type[_Shape], *, strict: bool = False) -> _Shape:
    """The value as one of that kind. Raises BadEvent."""
    try:
        return msgspec.convert(value, kind, strict=strict)
    except (msgspec.ValidationError, UnicodeError, RecursionError) as error:
        raise BadEvent(str(error)) from error


def table(value: object) -> dict[str, Any]:
    """The JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def tables(value: object) -> list[dict[str, Any]]:
    """The JSON objects in a list."""
    return [entry for entry in listed(value) if isinstance(entry, dict)]


def listed(value: object) -> list[Any]:
    """The list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """The text, "" for anything else."""
    return value if isinstance(value, str) else ""
