"""A world for each test, or one for a module whose tests each keep to a chat of their own."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.process.harness import Nanobot, World, open_world
from tests.process.own_server import own_server
from tests.process.sharing import Cluster
from tests.store.conftest import Postgres, postgres

__all__ = ["own_server", "postgres"]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


@pytest.fixture
async def gateway(world: World) -> Nanobot:
    """A gateway that is ready."""
    return await world.start()


@pytest.fixture
def cluster(world: World, postgres: Postgres) -> Cluster:
    """Processes over one PostgreSQL, none of them yet."""
    world.database_url = postgres.empty()
    configured = Cluster(world)
    configured.configure()
    return configured


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A world whose gateway serves the whole module, and at its end drains with nothing left."""
    async with open_world(tmp_path_factory.mktemp("shared")) as opened:
        opened.configure(more='[providers.dead]\napi_base = "http://127.0.0.1:9/v1"')
        gateway = await opened.start()
        yield opened
        assert await gateway.stop() == 0
        opened.verify()


@pytest.fixture(scope="module")
def chats() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def chat(chats: Iterator[int]) -> int:
    """A chat of an owner's that no other test of the module uses."""
    return next(chats)
