"""The vectors of the scopes that are searched, as matrices in memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanobot.errors import NanobotError
from nanobot.memory.records import MemoryStore, VectorRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_BYTES = 64_000_000
"""32,000 memories with vectors of 512 numbers."""

# What has less in common with the question than this only looks like an answer.
_LEAST = 0.25
_ROWS = 250
"""Vectors that one transaction reads: half a megabyte."""


class _Matrix(NamedTuple):
    """The vectors of a scope up to `seq`, one a row."""

    model: str
    seq: int
    ids: tuple[int, ...]
    rows: NDArray[np.float32]


class VectorIndex:
    """Each scope's matrix is read once and then follows what comes. Those used longest ago go once
    all of them take more than `max_bytes`; the one that is searched stays."""

    def __init__(self, store: MemoryStore, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._matrices: OrderedDict[str, _Matrix] = OrderedDict()

    async def nearest(
        self, scope: str, model: str, vector: Sequence[float], limit: int
    ) -> list[int]:
        """The ids of the memories nearest to a vector, the nearest first; some may be gone."""
        matrix = await self._follow(scope, model)
        return await asyncio.to_thread(_nearest, matrix, vector, limit) if matrix.ids else []

    async def is_empty(self, scope: str, model: str) -> bool:
        """Whether the scope has no vectors of that model."""
        return not (await self._follow(scope, model)).ids

    def drop(self, scope: str) -> None:
        """Some of its memories are gone: read it anew when it is searched again."""
        self._matrices.pop(scope, None)

    async def _follow(self, scope: str, model: str) -> _Matrix:
        matrix = self._matrices.get(scope)
        if matrix is None or matrix.model != model:
            matrix = await asyncio.to_thread(_empty, model)
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
        return sum(matrix.rows.nbytes + 40 * len(matrix.ids) for matrix in self._matrices.values())


def packed(vector: Sequence[float]) -> bytes:
    """A vector as it is kept: of length 1, as 32-bit floats."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    made = np.asarray(vector, dtype="<f4")
    length = float(np.linalg.norm(made))
    if made.ndim != 1 or not np.isfinite(length) or length == 0:
        raise NanobotError("the embedding model gave no usable vector")
    return bytes((made / length).astype("<f4").tobytes())


def _empty(model: str) -> _Matrix:
    import numpy as np  # noqa: PLC0415 - comes with an extra

    return _Matrix(model, 0, (), np.zeros((0, 0), dtype="<f4"))


def _extended(matrix: _Matrix, rows: Sequence[VectorRow]) -> _Matrix:
    import numpy as np  # noqa: PLC0415 - comes with an extra

    width = len(rows[-1].vector)
    # A model may have changed its dimensions under the same name: the older do not compare.
    same = [row for row in rows if len(row.vector) == width]
    added = np.frombuffer(b"".join(row.vector for row in same), dtype="<f4").reshape(len(same), -1)
    ids = tuple(row.id for row in same)
    if matrix.rows.shape[1] == added.shape[1]:
        added = np.concatenate([matrix.rows, added])
        ids = matrix.ids + ids
    return _Matrix(matrix.model, rows[-1].seq, ids, added)


def _nearest(matrix: _Matrix, vector: Sequence[float], limit: int) -> list[int]:
    import numpy as np  # noqa: PLC0415 - comes with an extra

    asked = np.frombuffer(packed(vector), dtype="<f4")
    if matrix.rows.shape[1] != asked.shape[0]:
        return []
    scores = matrix.rows @ asked
    best = np.argsort(-scores, kind="stable")[:limit]
    return list(dict.fromkeys(matrix.ids[int(at)] for at in best if scores[at] >= _LEAST))
