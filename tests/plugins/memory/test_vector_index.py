"""Vectors of memories are compared with and without numpy, as near as the model says."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.errors import NanobotError
from nanobot.plugins.memory.embed import least_of
from nanobot.plugins.memory.records import VectorRow
from nanobot.plugins.memory.vector_index import VectorIndex, packed

ROOT = Path(__file__).resolve().parents[2]


class Rows:
    """A store of memories, as far as an index of vectors asks."""

    def __init__(self, vectors: list[list[float]]) -> None:
        self._rows = [VectorRow(n + 1, n, packed(vector)) for n, vector in enumerate(vectors)]

    async def vectors(self, scope: str, model: str, after: int, limit: int) -> list[VectorRow]:
        return [row for row in self._rows if row.seq > after][:limit]


def index(vectors: list[list[float]]) -> VectorIndex:
    return VectorIndex(Rows(vectors))  # type: ignore[arg-type]


WITHOUT_NUMPY = """
import asyncio, random, sys
sys.modules["numpy"] = None
from tests.plugins.memory.test_vector_index import index, some
print(asyncio.run(index(some(300)).nearest("s", "m", some(1, seed=1)[0], 20, 0.0)))
"""


def some(count: int, seed: int = 0) -> list[list[float]]:
    rng = random.Random(seed)
    return [[rng.uniform(-1, 1) for _ in range(32)] for _ in range(count)]


async def test_without_numpy_the_same_memories_are_found_in_the_same_order() -> None:
    pytest.importorskip("numpy")
    nearest = await index(some(300)).nearest("s", "m", some(1, seed=1)[0], 20, 0.0)
    assert len(nearest) == 20
    process = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", WITHOUT_NUMPY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout.strip() == str(nearest), process.stderr


async def test_how_near_is_near_enough_the_model_says() -> None:
    vectors = index([[1.0, 0.0], [0.5, 0.8], [0.0, 1.0]])
    assert await vectors.nearest("s", "m", [1.0, 0.0], 9, 0.25) == [0, 1]
    assert await vectors.nearest("s", "m", [1.0, 0.0], 9, 0.75) == [0]
    assert least_of("openai/text-embedding-ada-002") == 0.75
    assert least_of("openai/text-embedding-3-small") == least_of("mine/any") == 0.25


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [float("inf")], [float("nan")], [[1.0]]])
def test_what_is_no_vector_is_refused(vector: list[float]) -> None:
    with pytest.raises(NanobotError, match="no usable vector"):
        packed(vector)
