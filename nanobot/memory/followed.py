"""Which memories stand in which file of a scope, as it was read last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from nanobot.memory.files import Stamp

MAX_BYTES = 16_000_000
"""About what is known of half a million memories."""

_DIGEST = 32
_OVERHEAD = 400  # of a file and its name, in bytes


class ReadFile(msgspec.Struct, frozen=True):
    """A file as it was read: what it looked like, and the digests in it, one after another."""

    stamp: Stamp | None
    joined: bytes

    @classmethod
    def of(cls, stamp: Stamp | None, digests: Iterable[bytes]) -> ReadFile:
        """With these digests, each once."""
        return cls(stamp, b"".join(dict.fromkeys(digests)))

    def digests(self) -> frozenset[bytes]:
        """The memories that stand in it."""
        joined = self.joined
        return frozenset(joined[at : at + _DIGEST] for at in range(0, len(joined), _DIGEST))


class FollowedScopes:
    """What is known of the files of each scope. Of those used longest ago nothing is known any
    more, once all of it takes more than `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._scopes: OrderedDict[str, Mapping[str, ReadFile]] = OrderedDict()
        self._bytes = 0

    def __contains__(self, scope: str) -> bool:
        return scope in self._scopes

    def get(self, scope: str) -> Mapping[str, ReadFile] | None:
        """The files of a scope by name; None if nothing is known of it."""
        files = self._scopes.get(scope)
        if files is not None:
            self._scopes.move_to_end(scope)
        return files

    def put(self, scope: str, files: Mapping[str, ReadFile]) -> None:
        """These are the files of a scope now."""
        self._drop(scope)
        self._scopes[scope] = files
        self._bytes += _size(files)
        while self._bytes > self._max_bytes and len(self._scopes) > 1:
            self._drop(next(iter(self._scopes)))

    def _drop(self, scope: str) -> None:
        self._bytes -= _size(self._scopes.pop(scope, {}))


def _size(files: Mapping[str, ReadFile]) -> int:
    return sum(_OVERHEAD + len(file.joined) for file in files.values())
