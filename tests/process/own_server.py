"""A PostgreSQL of one test, which may be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.postgres_server import started


class OwnServer:
    """A PostgreSQL of one test, which may be stopped."""

    def __init__(self, folder: Path) -> None:
        self.server = started(folder / "pg")

    @property
    def url(self) -> str:
        return str(self.server.get_uri())

    async def restart(self, away: float) -> None:
        await self.stop()
        await asyncio.sleep(away)
        await self.start()

    async def stop(self) -> None:
        await asyncio.to_thread(self.server.stop)

    async def start(self) -> None:
        await asyncio.to_thread(self.server.start)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[OwnServer]:
    own = OwnServer(tmp_path)
    yield own
    own.server.cleanup()
