"""Which memories each file of a scope contained when it was last read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from nanobot.plugins.memory.files import Stamp

MAX_BYTES = 16_000_000
"""Enough for about half a million memories."""

_DIGEST = 32
_OVERHEAD = 400  # bytes for a file and its name


class ReadFile(msgspec.Struct, frozen=True):
    """A file as last read: its stamp, and the digests of its memories, concatenated."""

    stamp: Stamp | None
    joined: bytes

    @classmethod
    def of(cls, stamp: Stamp | None, digests: Iterable[bytes]) -> ReadFile:
        """Build one from these digests, without duplicates."""
        return cls(stamp, b"".join(dict.fromkeys(digests)))

    def digests(self) -> frozenset[bytes]:
        """The memories in the file."""
        joined = self.joined
        return frozenset(joined[at : at + _DIGEST] for at in range(0, len(joined), _DIGEST))


class FollowedScopes:
    """The last known files of each scope. If they take more than `max_bytes`, it drops the least
    recently used scopes.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._scopes: OrderedDict[str, Mapping[str, ReadFile]] = OrderedDict()
        self._bytes = 0

    def __contains__(self, scope: str) -> bool:
        return scope in self._scopes

    def get(self, scope: str) -> Mapping[str, ReadFile] | None:
        """The files of a scope by name; None if the scope is not cached."""
        files = self._scopes.get(scope)
        if files is not None:
            self._scopes.move_to_end(scope)
        return files

    def put(self, scope: str, files: Mapping[str, ReadFile]) -> None:
        """Set the files of a scope."""
        self._drop(scope)
        self._scopes[scope] = files
        self._bytes += _size(files)
        while self._bytes > self._max_bytes and len(self._scopes) > 1:
            self._drop(next(iter(self._scopes)))

    def _drop(self, scope: str) -> None:
        self._bytes -= _size(self._scopes.pop(scope, {}))


def _size(files: Mapping[str, ReadFile]) -> int:
    return sum(_OVERHEAD + len(file.joined) for file in files.values())
