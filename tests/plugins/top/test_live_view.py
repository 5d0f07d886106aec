"""`nanobot top` in a terminal, with and without colours, and in a pipe."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.doubles.terminal import in_terminal
from tests.process.harness import World

pytestmark = pytest.mark.process
COLOURED = "\x1b[32mChannels:\x1b[0m"


async def test_a_terminal_shows_colours(world: World) -> None:
    await world.start()
    async with in_terminal(["top"], world.environ(), world.home) as terminal:
        await terminal.shows("Channels: telegram up")
        await terminal.shows("No run is live.")
        assert COLOURED in terminal.screen.raw


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"NO_COLOR": "anything"}])
async def test_a_terminal_without_colours_shows_none(world: World, more: dict[str, str]) -> None:
    await world.start()
    async with in_terminal(["top"], world.environ(**more), world.home) as terminal:
        await terminal.shows("Channels: telegram up")
        assert "m" not in styles(terminal.screen.raw)


def styles(raw: str) -> set[str]:
    """The last letters of all sequences: `m` sets a style."""
    return {part.lstrip("0123456789;")[:1] for part in raw.split("\x1b[")[1:]}


async def test_a_pipe_gets_plain_text_once(world: World) -> None:
    await world.start()
    ended = await world.run("top")
    assert ended.code == 0
    assert "\x1b" not in ended.output
    assert "Event loop: " in ended.output
    assert " units wait; a look takes " in ended.output


async def test_programs_get_the_queue_of_the_store_and_the_largest_lag(world: World) -> None:
    await world.start()
    moment: dict[str, Any] = json.loads((await world.run("top", "--json")).output)
    assert moment["store_queue"] >= 0
    assert moment["loop_lag_ms"] >= 0
    assert moment["channels"] == {"telegram": "up"}
