"""Coming into rooms, and what goes wrong over there."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.errors import BadCredentials, ChannelDown
from nanobot_channels.matrix import MatrixChannel
from nanobot_channels.matrix.access import Invites
from tests.channels.matrixing import BOB, account, channel, ended, receiving
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_rooms import ANN, ME
from tests.doubles.matrix_server import MatrixServer

ROOM = "!new:loopback"


async def test_it_comes_when_an_owner_invites_and_answers_what_was_said_since() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        server.rooms.add(ROOM, "m.room.create", {}, sender=ANN, state_key="")
        server.rooms.member(ROOM, ANN, "join")
        server.say(ROOM, "before you")
        server.rooms.member(ROOM, ME, "invite", by=ANN)
        server.say(ROOM, "are you there?")
        messages = await intake.received(1)
    assert [message.text for message in messages] == ["are you there?"]


async def test_who_was_invited_long_ago_hears_what_was_said_since(matrix: MatrixServer) -> None:
    intake = FakeIntake()
    async with receiving(channel(matrix), intake):
        pass
    matrix.rooms.add(ROOM, "m.room.create", {}, sender=ANN, state_key="")
    matrix.rooms.member(ROOM, ANN, "join")
    matrix.say(ROOM, "before you")
    matrix.rooms.member(ROOM, ME, "invite", by=ANN)
    for number in range(150):
        matrix.say(ROOM, str(number))
    async with receiving(channel(matrix), intake):
        messages = await intake.received(150)
    assert [message.text for message in messages] == [str(number) for number in range(150)]


@pytest.mark.parametrize(
    ("invites", "direct", "comes"),
    [
        (Invites(known=frozenset({ANN})), True, True),
        (Invites(known=frozenset({ANN})), False, False),
        (Invites(known=frozenset({ANN}), strangers=False), True, False),
        (Invites(anyone=True), False, True),
    ],
)
async def test_a_strangers_invitation_is_taken_as_configured(
    invites: Invites, direct: bool, comes: bool
) -> None:
    async with (
        MatrixServer() as server,
        receiving(channel(server, invites=invites), FakeIntake()),
    ):
        server.invite(ROOM, BOB, direct=direct)
        await server.until(lambda: server.rooms.membership(ROOM, ME) != "invite")
    assert server.rooms.membership(ROOM, ME) == ("join" if comes else "leave")


async def test_an_invitation_outlives_a_server_in_trouble_and_a_restart() -> None:
    async with MatrixServer() as server:
        server.fail("/join/", times=1, status=502)
        intake = FakeIntake()
        async with receiving(channel(server), intake):
            server.invite(ROOM)
            await intake.until(lambda: "new" in (intake.stored or ""))
            await server.until(lambda: len(server.called("/join/")) == 1)
        async with receiving(channel(server), intake):
            await server.until(lambda: server.rooms.membership(ROOM, ME) == "join")


def upgraded(server: MatrixServer, *, says: str, state_key: str | None = "", by: str = ANN) -> None:
    """The direct room is replaced by another, which names its predecessor."""
    created = {"predecessor": {"room_id": says}}
    server.rooms.add(ROOM, "m.room.create", created, sender=by, state_key="")
    server.rooms.member(ROOM, by, "join")
    server.rooms.member(ROOM, ME, "invite", by=by)
    gone = {"replacement_room": ROOM}
    server.rooms.add(server.dm, "m.room.tombstone", gone, sender=by, state_key=state_key)


async def test_it_follows_an_upgraded_room() -> None:
    """Also if whoever upgrades it may not invite the bot."""
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        upgraded(server, says=server.dm, by=BOB)
        await intake.until(lambda: bool(intake.moves))
        assert server.rooms.membership(ROOM, ME) == "join"


async def test_an_upgraded_room_is_the_same_chat() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        upgraded(server, says=server.dm)
        await intake.until(lambda: bool(intake.moves))
        server.say(ROOM, "here")
        (message,) = await intake.received(1)
        assert (intake.moves, message.address.chat_id) == ([(server.dm, ROOM)], ROOM)


@pytest.mark.parametrize("place", ["/join/", "/state/"])
async def test_an_upgrade_outlives_a_server_in_trouble_and_a_restart(place: str) -> None:
    async with MatrixServer() as server:
        server.fail(place, times=2, status=502)
        intake = FakeIntake()
        async with receiving(channel(server), intake):
            upgraded(server, says=server.dm, by=BOB)
            await server.until(lambda: len(server.called(place)) >= 1)
            await intake.until(lambda: ROOM in (intake.stored or ""))
            server.say(server.dm, "still here")
            await intake.received(1)
        async with receiving(channel(server), intake):
            await intake.until(lambda: intake.moves == [(server.dm, ROOM)])
            assert server.rooms.membership(ROOM, ME) == "join"


async def test_a_room_becomes_no_other_that_does_not_say_so_itself() -> None:
    """Or anyone could send the answers of another room into their own, and the bot into any."""
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        upgraded(server, says="!another:loopback")
        await server.until(lambda: bool(server.called("/state/")))
        server.say(server.dm, "still here")
        await intake.received(1)
        assert intake.moves == []
        await server.until(lambda: server.rooms.membership(ROOM, ME) == "leave")


async def test_a_room_where_the_bot_was_is_not_left_because_another_names_it() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        server.rooms.member(ROOM, ME, "invite", by=ANN)
        await server.until(lambda: server.rooms.membership(ROOM, ME) == "join")
        gone = {"replacement_room": ROOM}
        server.rooms.add(server.dm, "m.room.tombstone", gone, sender=ANN, state_key="")
        await server.until(lambda: bool(server.called("/state/")))
        server.say(ROOM, "still here")
        await intake.received(1)
        assert (intake.moves, server.rooms.membership(ROOM, ME)) == ([], "join")


async def test_a_message_that_looks_like_an_upgrade_is_none() -> None:
    """Every member can send one; only who may upgrade a room can set its state."""
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        server.rooms.add(
            server.dm, "m.room.tombstone", {"replacement_room": ROOM}, sender=ANN, state_key=None
        )
        server.say(server.dm, "still here")
        await intake.received(1)
        assert server.called("/join/") == []


async def test_an_encrypted_room_is_told_once(matrix: MatrixServer, intake: FakeIntake) -> None:
    async with receiving(channel(matrix), intake):
        matrix.rooms.add(matrix.dm, "m.room.encrypted", {"algorithm": "m"}, sender=ANN)
        await matrix.until(lambda: bool(matrix.texts(matrix.dm)))
        await intake.until(lambda: "told" in (intake.stored or ""))
    async with receiving(channel(matrix), intake):
        matrix.rooms.add(matrix.dm, "m.room.encrypted", {"algorithm": "m"}, sender=ANN)
        matrix.say(matrix.dm, "plain")
        await intake.received(1)
    assert len(matrix.texts(matrix.dm)) == 1
    assert "encrypted" in matrix.texts(matrix.dm)[0]


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 502},
        {"status": 429, "answer": {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 1500}},
        # One cut of a connection that was used before is bridged by the HTTP client.
        {"drop": "before", "times": 2},
        {"drop": "after", "times": 2},
        {"body": b"<html>"},
        {"body": b"[]"},
        {"body": b'{"rooms": []}'},
        {"body": b"[" * 100_000},
    ],
)
async def test_trouble_over_there_is_waited_out_and_costs_nothing(
    fault: dict[str, Any], matrix: MatrixServer, intake: FakeIntake
) -> None:
    async with receiving(channel(matrix), intake):
        matrix.say(matrix.dm, "one")
        await intake.received(1)
    matrix.say(matrix.dm, "two")
    matrix.fail("/sync", **fault)
    bot = channel(matrix)
    with pytest.raises(ChannelDown) as down:
        await bot.run(intake)
    await bot.close()
    assert down.value.retry_after == (1.5 if fault.get("status") == 429 else None)
    async with receiving(channel(matrix), intake):
        assert [message.text for message in await intake.received(2)] == ["one", "two"]


async def test_no_server_is_an_outage_that_says_where_to_look() -> None:
    async with MatrixServer() as gone:
        bot = channel(gone)
    with pytest.raises(ChannelDown, match=r"\.well-known/matrix/client"):
        await bot.run(FakeIntake())
    await bot.close()


async def test_a_token_that_is_gone_ends_the_channel_and_says_what_to_do() -> None:
    async with MatrixServer() as server:
        error = await ended(channel(server), FakeIntake(), server.sessions.clear)
    assert isinstance(error, BadCredentials)
    assert "channels.matrix.access_token" in str(error)


async def test_a_session_that_is_gone_is_made_anew_with_the_password(matrix: MatrixServer) -> None:
    bot = MatrixChannel("matrix", account(matrix, password=matrix.password))
    intake = FakeIntake()
    error = await ended(bot, intake, lambda: matrix.sessions.clear())  # noqa: PLW0108 - it changes
    assert isinstance(error, ChannelDown)
    bot = MatrixChannel("matrix", account(matrix, password=matrix.password))
    async with receiving(bot, intake):
        matrix.say(matrix.dm, "back?")
        assert [message.text for message in await intake.received(1)] == ["back?"]


async def test_a_wrong_password_says_what_to_check(matrix: MatrixServer) -> None:
    bot = MatrixChannel("matrix", account(matrix, password="wrong"))
    with pytest.raises(BadCredentials, match=r"channels\.matrix\.password"):
        await bot.run(FakeIntake())
    await bot.close()


async def test_a_password_signs_in_as_the_same_device_at_every_start(matrix: MatrixServer) -> None:
    intake = FakeIntake()
    for _ in range(2):
        bot = MatrixChannel("matrix", account(matrix, password=matrix.password))
        async with receiving(bot, intake):
            pass
    assert sorted(matrix.sessions.values()) == ["NANOBOTX", "TOKEN"]
    assert matrix.password not in (intake.stored or "")


async def test_the_account_is_tried_without_ending_a_session(matrix: MatrixServer) -> None:
    bot = MatrixChannel("matrix", account(matrix, password=matrix.password))
    async with receiving(bot, FakeIntake()):
        before = dict(matrix.sessions)
        assert await bot.check() == f"{ME} on {matrix.root_url}"
        assert matrix.sessions == before
