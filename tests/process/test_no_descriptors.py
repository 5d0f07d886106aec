"""A process that may open no more files: it stays up, loses nothing and goes on later."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.process.harness import Nanobot, World

CHATS = range(2, 8)


@contextmanager
def without_descriptors(process: Nanobot, left: int) -> Iterator[None]:
    """It may open so many more."""
    _, most = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    used = [int(each.name) for each in Path(f"/proc/{process.pid}/fd").iterdir()]
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (max(used) + 1 + left, most))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("left", [0, 1, 3])
async def test_what_is_said_without_descriptors_is_answered_once_when_there_are_some(
    world: World, gateway: Nanobot, left: int
) -> None:
    world.telegram.say(1, "say:before")
    await world.said(1, "before")
    with without_descriptors(gateway, left):
        for chat in CHATS:
            world.telegram.say(chat, f"say:{chat}")
        await asyncio.sleep(3)
        assert gateway.running
    for chat in CHATS:
        await world.said(chat, f"{chat}")
    world.telegram.say(1, "say:after")
    assert await world.answered(1, 2) == ["before", "after"]
    assert await gateway.stop() == 0
    for chat in CHATS:
        assert world.texts(chat) == [f"{chat}"]
    world.verify()
