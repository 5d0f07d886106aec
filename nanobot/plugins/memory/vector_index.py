"""The vectors of searched scopes, as matrices in memory. numpy is optional; it makes the search a
hundred times faster.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import struct
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from operator import mul
from typing import NamedTuple

from nanobot.errors import NanobotError
from nanobot.plugins.memory.records import MemoryStore, VectorRow

MAX_BYTES = 64_000_000
"""Enough for 32,000 memories with vectors of 512 numbers."""

_ROWS = 250
"""Vectors read per transaction: half a megabyte."""


class _Matrix(NamedTuple):
    """The vectors of a scope up to `seq`: rows of equal width, of 32-bit floats."""

    model: str
    seq: int = 0
    ids: tuple[int, ...] = ()
    rows: bytes = b""

    @property
    def width(self) -> int:
        """Bytes per row."""
        return len(self.rows) // len(self.ids) if self.ids else 0


class VectorIndex:
    """Each scope's matrix is read once and then updated with new vectors. When all of them take
    more than `max_bytes`, the least recently used are dropped, but never the one being searched.
    """

    def __init__(self, store: MemoryStore, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._matrices: OrderedDict[str, _Matrix] = OrderedDict()

    async def nearest(
        self, scope: str, model: str, vector: Sequence[float], limit: int, least: float = 0.0
    ) -> list[int]:
        """The ids of the memories nearest to a vector, nearest first; some may have been removed
        since. Memories with a cosine below `least` are left out: they only look like answers.
        """
        matrix = await self._follow(scope, model)
        if not matrix.ids:
            return []
        return await asyncio.to_thread(_nearest, matrix, vector, limit, least)

    async def is_empty(self, scope: str, model: str) -> bool:
        """Whether the scope has no vectors from that model."""
        return not (await self._follow(scope, model)).ids

    def drop(self, scope: str) -> None:
        """Drop the scope's matrix because some of its memories were removed; the next search reads
        it again.
        """
        self._matrices.pop(scope, None)

    async def _follow(self, scope: str, model: str) -> _Matrix:
        matrix = self._matrices.get(scope)
        if matrix is None or matrix.model != model:
            matrix = _Matrix(model)
        pages: list[VectorRow] = []
        seq = matrix.seq
        while rows := await self._store.vectors(scope, model, seq, _ROWS):
            pages += rows
            seq = rows[-1].seq
        if pages:
            matrix = await asyncio.to_thread(_extended, matrix, pages)
        self._matrices[scope] = matrix
        self._matrices.move_to_end(scope)
        while len(self._matrices) > 1 and self._bytes() > self._max_bytes:
            self._matrices.popitem(last=False)
        return matrix

    def _bytes(self) -> int:
        return sum(len(matrix.rows) + 40 * len(matrix.ids) for matrix in self._matrices.values())


def packed(vector: Sequence[float]) -> bytes:
    """A vector in its stored form: length 1, 32-bit floats. Raises NanobotError for an invalid
    vector.
    """
    try:
        values = [float(value) for value in vector]
    except (TypeError, ValueError) as error:
        raise NanobotError("the embedding model gave no usable vector") from error
    length = math.hypot(*values)
    if not math.isfinite(length) or length == 0:
        raise NanobotError("the embedding model gave no usable vector")
    return struct.pack(f"<{len(values)}f", *(value / length for value in values))


def _extended(matrix: _Matrix, rows: Sequence[VectorRow]) -> _Matrix:
    width = len(rows[-1].vector)
    # A model may change its dimensions under the same name: older vectors are then not comparable.
    same = [row for row in rows if len(row.vector) == width]
    ids, added = tuple(row.id for row in same), b"".join(row.vector for row in same)
    if matrix.width == width:
        ids, added = matrix.ids + ids, matrix.rows + added
    return _Matrix(matrix.model, rows[-1].seq, ids, added)


def _nearest(matrix: _Matrix, vector: Sequence[float], limit: int, least: float) -> list[int]:
    packed_vector = packed(vector)
    if matrix.width != len(packed_vector):
        return []
    scored = enumerate(_cosines(matrix.rows, packed_vector))
    close = ((-score, at) for at, score in scored if score >= least)
    return list(dict.fromkeys(matrix.ids[at] for _, at in heapq.nsmallest(limit, close)))


def _cosines(rows: bytes, packed_vector: bytes) -> Iterator[float]:
    """The cosine of each row with a vector."""
    if find_spec("numpy") is not None:
        import numpy as np  # noqa: PLC0415 - of an extra

        vector = np.frombuffer(packed_vector, dtype="<f4")
        yield from (np.frombuffer(rows, dtype="<f4").reshape(-1, vector.shape[0]) @ vector).tolist()
        return
    values = struct.unpack(f"<{len(packed_vector) // 4}f", packed_vector)
    for row in struct.iter_unpack(f"<{len(values)}f", rows):
        yield sum(map(mul, row, values))
