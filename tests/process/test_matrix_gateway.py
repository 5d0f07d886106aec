"""A whole gateway on Matrix: answers once, whatever breaks on the way."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from importlib.metadata import entry_points

import pytest

from tests.doubles.matrix_rooms import ANN
from tests.doubles.matrix_server import MatrixServer
from tests.process.harness import LATE_EDIT, Nanobot, World

# A checkout that was installed before there was this channel has to be installed anew.
pytestmark = pytest.mark.skipif(
    not entry_points(group="nanobot.channels", name="matrix"), reason="not installed with Matrix"
)

BOB = "@bob:loopback"
GROUP = "!group:loopback"


@pytest.fixture
async def matrix(world: World) -> AsyncIterator[MatrixServer]:
    async with MatrixServer() as server:
        server.room(GROUP, ANN, BOB)
        table = f"""
[channels.matrix]
homeserver = "{server.root_url}"
user = "@nano:loopback"
password = "{server.password}"
owners = ["{ANN}"]
"""
        world.configure(more=table)
        yield server


async def connected(server: MatrixServer) -> None:
    """It polls, so it has seen what is the case now."""
    await server.until(lambda: server.since > 0)


async def test_an_invited_bot_answers_and_in_a_group_only_when_named(
    world: World, matrix: MatrixServer
) -> None:
    await world.start()
    await connected(matrix)
    matrix.invite("!new:loopback", direct=True)
    matrix.say("!new:loopback", "say:in private")
    matrix.say(GROUP, "say:among us")
    matrix.say(GROUP, "Nano: say:in public")
    matrix.say(GROUP, "Nano: say:to a stranger", sender=BOB)
    await matrix.until(lambda: matrix.texts("!new:loopback") == ["in private"])
    await matrix.until(lambda: matrix.texts(GROUP) == ["in public"])
    text = str(world.model.requests)
    assert "among us" not in text
    assert "stranger" not in text


async def test_an_answer_is_shown_while_it_is_written_in_one_message(
    world: World, matrix: MatrixServer
) -> None:
    await world.start()
    await connected(matrix)
    matrix.say(matrix.dm, "pace:0.5\nsay:one two three four five six")
    await matrix.until(lambda: matrix.texts(matrix.dm) == ["one two three four five six"])
    sent = [call for call in matrix.called("/send/m.room.message/") if "m.new_content" in call[2]]
    assert sent, "it was edited into the answer"
    await matrix.until(lambda: bool(matrix.typing))


async def test_an_answer_whose_fate_is_unknown_is_not_repeated(
    world: World, matrix: MatrixServer
) -> None:
    await world.start()
    await connected(matrix)
    matrix.fail("/send/m.room.message/", times=2, drop="after")
    matrix.say(matrix.dm, "say:once")
    await matrix.until(lambda: matrix.texts(matrix.dm) == ["once"])
    matrix.say(matrix.dm, "say:next")
    await matrix.until(lambda: len(matrix.texts(matrix.dm)) >= 2)
    assert matrix.texts(matrix.dm) == ["once", "next"]


async def test_what_was_said_while_the_gateway_was_dead_is_answered_once_and_in_order(
    world: World, matrix: MatrixServer, gateway: Nanobot
) -> None:
    await connected(matrix)
    matrix.say(matrix.dm, "say:zero")
    await matrix.until(lambda: matrix.texts(matrix.dm) == ["zero"])
    await gateway.kill()
    for number in ("one", "two", "three"):
        matrix.say(matrix.dm, f"say:{number}")
    await world.start()
    await matrix.until(lambda: matrix.texts(matrix.dm)[-1] == "three")
    # What came together may be one run: the model saw everything, in order, once.
    heard = [
        line
        for message in world.model.requests[-1]["messages"]
        if message["role"] == "user"
        for line in re.findall(r"say:\w+", str(message["content"]))
    ]
    assert heard == ["say:zero", "say:one", "say:two", "say:three"]
    assert len(matrix.texts(matrix.dm)) == len(set(matrix.texts(matrix.dm)))


async def test_who_edits_a_message_after_its_answer_hears_that_it_was_too_late(
    world: World, matrix: MatrixServer
) -> None:
    await world.start()
    await connected(matrix)
    event = matrix.say(matrix.dm, "say:one")
    await matrix.until(lambda: matrix.texts(matrix.dm) == ["one"])
    matrix.edit(matrix.dm, event["event_id"], "say:two")
    await matrix.until(lambda: matrix.texts(matrix.dm) == ["one", LATE_EDIT])
    assert "say:two" not in str(world.model.requests)
