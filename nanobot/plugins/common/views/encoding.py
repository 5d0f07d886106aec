"""JSON encoding of large results in pieces, so that other tasks get their turn in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

_AT_ONCE = 200
"""Items of a list that are encoded in one piece."""
_encode = msgspec.json.Encoder().encode


def is_large(value: Any) -> bool:
    """Whether encoding it in one piece would delay other tasks."""
    if isinstance(value, list | tuple):
        return len(value) > _AT_ONCE
    return _is_plain(value) and any(
        isinstance(field, list | tuple) and len(field) > _AT_ONCE for field in _values(value)
    )


async def pieces(value: Any) -> AsyncIterator[bytes]:
    """The JSON of a result."""
    for piece in _pieces(value):
        yield piece
        await asyncio.sleep(0)


async def encoded(value: Any) -> bytes:
    """The complete encoding."""
    if not is_large(value):
        return _encode(value)
    return b"".join([piece async for piece in pieces(value)])


def _pieces(value: Any) -> Iterator[bytes]:
    if not is_large(value):
        yield _encode(value)
    elif isinstance(value, list | tuple):
        for at in range(0, len(value), _AT_ONCE):
            yield (b"," if at else b"[") + _encode(value[at : at + _AT_ONCE])[1:-1]
        yield b"]"
    else:
        for number, name in enumerate(value.__struct_fields__):
            yield (b"," if number else b"{") + _encode(name) + b":"
            yield from _pieces(getattr(value, name))
        yield b"}"


def _is_plain(value: Any) -> bool:
    """Whether it is an object with all its fields, by their names."""
    if not isinstance(value, msgspec.Struct):
        return False
    how = value.__struct_config__
    renamed = value.__struct_encode_fields__ != value.__struct_fields__
    return not (how.tag or how.array_like or how.omit_defaults or renamed)


def _values(value: msgspec.Struct) -> Iterator[Any]:
    return (getattr(value, name) for name in value.__struct_fields__)
