"""What people say in rooms, as it reaches the intake."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.errors import StoreUnwritable
from nanobot.messages import Address
from nanobot.testing.machine import ManualClock
from tests.channels.matrixing import BOB, GROUP, about, channel, ended, group, receiving
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_rooms import ANN, ME
from tests.doubles.matrix_server import MatrixServer


async def test_history_from_before_the_first_start_is_not_read(matrix: MatrixServer) -> None:
    matrix.say(matrix.dm, "old")
    async with receiving(channel(matrix), FakeIntake()) as intake:
        matrix.say(matrix.dm, "new")
        (message,) = await intake.received(1)
    assert message.text == "new"
    assert message.address == Address("matrix", matrix.dm)
    assert (message.sender.id, message.sender.name) == (ANN, "Ann")
    assert not message.group


async def test_what_was_said_meanwhile_comes_after_a_restart_and_once(matrix: MatrixServer) -> None:
    intake = FakeIntake()
    async with receiving(channel(matrix), intake):
        matrix.say(matrix.dm, "one")
        await intake.received(1)
    matrix.say(matrix.dm, "two")
    async with receiving(channel(matrix), intake):
        matrix.say(matrix.dm, "three")
        messages = await intake.received(3)
    assert [message.text for message in messages] == ["one", "two", "three"]


async def test_what_the_intake_refuses_is_said_again(matrix: MatrixServer) -> None:
    intake = FakeIntake()

    def fill_up() -> None:
        intake.failures.append(StoreUnwritable("full"))
        matrix.say(matrix.dm, "again")

    error = await ended(channel(matrix), intake, fill_up)
    assert isinstance(error, StoreUnwritable)
    async with receiving(channel(matrix), intake):
        assert [message.text for message in await intake.received(1)] == ["again"]


async def test_a_gap_is_looked_up_page_by_page(matrix: MatrixServer, intake: FakeIntake) -> None:
    async with receiving(channel(matrix), intake):
        pass
    for number in range(350):
        matrix.say(matrix.dm, str(number))
    async with receiving(channel(matrix), intake):
        messages = await intake.received(350)
    assert [message.text for message in messages] == [str(number) for number in range(350)]
    assert len(matrix.called("/messages")) > 1
    assert len(intake.batches[-1][0]) == 350, "in one transaction with the cursor"


async def test_a_gap_is_looked_up_as_far_as_configured(matrix: MatrixServer) -> None:
    intake = FakeIntake()
    async with receiving(channel(matrix), intake):
        pass
    for number in range(350):
        matrix.say(matrix.dm, str(number))
    async with receiving(channel(matrix, backfill=120), intake):
        messages = await intake.received(220)
    assert [message.text for message in messages] == [str(number) for number in range(130, 350)]


async def test_a_forgotten_place_costs_no_message(matrix: MatrixServer, intake: FakeIntake) -> None:
    clock_ahead = channel(matrix)
    async with receiving(clock_ahead, intake):
        matrix.date = matrix.rooms.now / 1000
        matrix.rooms.now = 4_000_000_000_000  # the clock of whoever says it is ahead
        matrix.say(matrix.dm, "one")
        await intake.received(1)
    matrix.forgotten = matrix.rooms.position + 1
    matrix.say(matrix.dm, "two")
    async with receiving(channel(matrix), intake):
        await intake.until(lambda: any(message.text == "two" for message in intake.messages))
        matrix.say(matrix.dm, "three")
        await intake.until(lambda: intake.messages[-1].text == "three")
    keys = [message.dedupe_key for message in intake.messages if message.text == "two"]
    assert len(keys) == 1


@pytest.mark.parametrize("days", [40, -40])
async def test_a_wrong_clock_of_the_machine_loses_nothing_when_the_place_is_forgotten(
    days: int, matrix: MatrixServer
) -> None:
    clock = ManualClock(matrix.rooms.now / 1000 + days * 86_400)
    matrix.say(matrix.dm, "before")
    intake = FakeIntake()
    async with receiving(channel(matrix, clock=clock), intake):
        matrix.say(matrix.dm, "one")
        await intake.received(1)
    matrix.forgotten = matrix.rooms.position + 1
    matrix.say(matrix.dm, "two")
    async with receiving(channel(matrix, clock=clock), intake):
        await intake.until(lambda: intake.messages[-1].text == "two")
    assert {message.text for message in intake.messages} == {"one", "two"}


async def test_clocks_that_differ_and_long_rooms_lose_nothing_when_the_place_is_forgotten(
    matrix: MatrixServer,
) -> None:
    """Those of other servers are behind, and of a room the first look has a hundred events."""
    intake = FakeIntake()
    matrix.say(matrix.dm, "before")
    async with receiving(channel(matrix), intake):
        matrix.rooms.now += 60_000
        matrix.say(matrix.dm, "one")
        await intake.received(1)
    matrix.rooms.now -= 30_000
    for number in range(250):
        matrix.say(matrix.dm, str(number))
    matrix.forgotten = matrix.rooms.position + 1
    async with receiving(channel(matrix), intake):
        await intake.until(lambda: intake.messages[-1].text == "249")
    assert [message.text for message in intake.messages if message.text.isdigit()] == [
        str(number) for number in range(250)
    ]
    assert "before" not in {message.text for message in intake.messages}


async def test_another_accounts_cursor_is_not_used(matrix: MatrixServer) -> None:
    intake = FakeIntake('{"user":"@else:loopback","since":"s1"}')
    matrix.say(matrix.dm, "old")
    async with receiving(channel(matrix), intake):
        await intake.until(lambda: len(intake.batches) == 1)
        matrix.say(matrix.dm, "new")
        assert [message.text for message in await intake.received(1)] == ["new"]


# Who is meant


@pytest.mark.parametrize(
    ("text", "more", "meant", "arrives"),
    [
        ("hello all", {}, False, "hello all"),
        ("hello all", {"m.mentions": {"user_ids": [ME]}}, True, "hello all"),
        ("Nano: hello", {"m.mentions": {"user_ids": [ME]}}, True, "hello"),
        ("Nano hello", {"m.mentions": {"user_ids": [ME]}}, True, "hello"),
        ("nano, hello", {}, True, "hello"),
        (f"{ME} /status", {}, True, "/status"),
        ("@nano /status", {}, True, "/status"),
        ("ask Nano please", {}, True, "ask Nano please"),
        ("nanotubes are small", {}, False, "nanotubes are small"),
        ("write to x@nano.example", {}, False, "write to x@nano.example"),
        ("Nano", {}, True, "Nano"),
        ("look", {"formatted_body": f'<a href="https://matrix.to/#/{ME}">N</a>'}, True, "look"),
        ("@room all", {"m.mentions": {"room": True}}, False, "@room all"),
        ("odd", {"m.mentions": [1], "formatted_body": 7}, False, "odd"),
    ],
)
async def test_in_a_group_the_bot_is_meant_when_named(
    text: str, more: dict[str, Any], meant: bool, arrives: str, matrix: MatrixServer
) -> None:
    group(matrix)
    async with receiving(channel(matrix), FakeIntake()) as intake:
        matrix.say(GROUP, text, **more)
        (message,) = await intake.received(1)
    assert message.group
    assert (message.addressed, message.text) == (meant, arrives)


async def test_a_room_that_the_account_calls_direct_is_direct(matrix: MatrixServer) -> None:
    group(matrix)
    matrix.rooms.direct = {ANN: [GROUP]}
    async with receiving(channel(matrix), FakeIntake()) as intake:
        matrix.say(GROUP, "hello")
        (message,) = await intake.received(1)
    assert message.addressed
    assert not message.group


async def test_a_room_becomes_a_group_when_a_third_comes() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        server.say(server.dm, "two of us")
        await intake.received(1)
        server.rooms.member(server.dm, BOB, "join")
        server.say(server.dm, "three of us")
        message, after = await intake.received(2)
    assert [message.group, after.group] == [False, True]


async def test_an_answer_brings_what_it_answers(matrix: MatrixServer) -> None:
    group(matrix)
    async with receiving(channel(matrix), FakeIntake()) as intake:
        first = matrix.say(GROUP, "the plan")
        answers = {"m.in_reply_to": {"event_id": first["event_id"]}}
        text = f"> <{ANN}> the plan\n\nis good"
        matrix.say(GROUP, text, sender=BOB, **about(answers))
        _, reply = await intake.received(2)
    assert (reply.text, reply.quote, reply.reply_to) == ("is good", "the plan", first["event_id"])
    assert reply.tainted
    assert not reply.addressed


async def test_an_answer_to_the_bot_is_meant_for_it(matrix: MatrixServer) -> None:
    group(matrix)
    ours = matrix.say(GROUP, "mine", sender=ME)
    async with receiving(channel(matrix), FakeIntake()) as intake:
        answers = {"m.in_reply_to": {"event_id": ours["event_id"]}}
        matrix.say(GROUP, "why?", sender=BOB, **about(answers))
        (reply,) = await intake.received(1)
    assert reply.addressed
    assert reply.quote == "mine"
    assert not reply.tainted


async def test_an_answer_to_nothing_is_a_message() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        gone = {"m.in_reply_to": {"event_id": "$gone"}}
        server.say(server.dm, "> <@x:y> was\n> there\n\nso?", **about(gone))
        (reply,) = await intake.received(1)
    assert (reply.text, reply.quote) == ("so?", "was\nthere")


async def test_a_thread_that_began_with_the_bots_name_needs_it_no_more() -> None:
    async with MatrixServer() as server:
        group(server)
        async with receiving(channel(server), FakeIntake()) as intake:
            root = server.say(GROUP, "Nano: look")["event_id"]
            thread = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True}
            thread["m.in_reply_to"] = {"event_id": root}
            server.say(GROUP, "and here", **about(thread))
            _, second = await intake.received(2)
    assert second.address.thread_id == root
    assert second.addressed
    assert second.reply_to is None


async def test_an_edit_replaces_its_original_in_its_thread() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        root = server.say(server.dm, "root")["event_id"]
        thread = {"rel_type": "m.thread", "event_id": root}
        first = server.say(server.dm, "teh", **about(thread))["event_id"]
        edit = server.edit(server.dm, first, "the")["event_id"]
        _, _, new = await intake.received(3)
    assert (new.text, new.edit_of, new.message_id, new.dedupe_key) == ("the", first, first, edit)
    assert new.address.thread_id == root


async def test_nobody_edits_what_another_said(matrix: MatrixServer) -> None:
    group(matrix)
    async with receiving(channel(matrix), FakeIntake()) as intake:
        first = matrix.say(GROUP, "pay ann")["event_id"]
        matrix.edit(GROUP, first, "pay bob", sender=BOB)
        matrix.say(GROUP, "last")
        messages = await intake.received(2)
    assert [message.text for message in messages] == ["pay ann", "last"]


async def test_bots_and_the_bot_itself_are_not_heard() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        server.say(server.dm, "I am a bot", msgtype="m.notice")
        server.say(server.dm, "myself", sender=ME)
        taken = server.say(server.dm, "taken back")
        server.rooms.redact(taken["event_id"], ANN)
        server.say(server.dm, "human")
        await intake.until(lambda: bool(intake.messages) and intake.messages[-1].text == "human")
    assert "I am a bot" not in [message.text for message in intake.messages]
    assert "myself" not in [message.text for message in intake.messages]


async def test_a_redaction_names_the_message_that_is_gone() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        event = server.say(server.dm, "taken back")
        (message,) = await intake.received(1)
        server.rooms.redact(event["event_id"], ANN)
        gone = (await intake.received(2))[1]
        answers = {"m.in_reply_to": {"event_id": event["event_id"]}}
        server.say(server.dm, "what was that?", **about(answers))
        assert (await intake.received(3))[2].quote == ""
    assert (gone.deleted, gone.edit_of, gone.address) == (True, message.dedupe_key, message.address)


async def test_what_is_no_text_is_said_as_text() -> None:
    async with MatrixServer() as server, receiving(channel(server), FakeIntake()) as intake:
        server.say(server.dm, "waves", msgtype="m.emote")
        server.say(server.dm, "here", msgtype="m.location", geo_uri="geo:1,2")
        server.say(server.dm, "of tomorrow", msgtype="org.example.new")
        messages = await intake.received(3)
    assert [message.text for message in messages] == [
        "*waves*",
        "[place: here geo:1,2]",
        "of tomorrow",
    ]


_UNSTABLE = "org.matrix.msc3381.poll.start"
_TEXT = "org.matrix.msc1767.text"


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (
            _UNSTABLE,
            {
                _UNSTABLE: {
                    "question": {_TEXT: "Tea?"},
                    "answers": [{"id": "1", _TEXT: "yes"}, {"id": "2", _TEXT: "no\nway"}],
                }
            },
        ),
        (
            "m.poll.start",
            {
                "m.poll": {
                    "question": {"m.text": [{"body": "Tea?"}]},
                    "answers": [
                        {"m.id": "1", "m.text": [{"body": "<b>yes</b>", "mimetype": "text/html"}]},
                        {"m.id": "2", "m.text": [{"body": "no way", "mimetype": "text/plain"}]},
                    ],
                }
            },
        ),
    ],
)
async def test_a_poll_is_said_in_words(
    matrix: MatrixServer, kind: str, content: dict[str, Any]
) -> None:
    async with receiving(channel(matrix), FakeIntake()) as intake:
        poll = matrix.rooms.add(matrix.dm, kind, content, sender=ANN)
        matrix.say(
            matrix.dm,
            "what do you think?",
            **about({"m.in_reply_to": {"event_id": poll["event_id"]}}),
        )
        asked, reply = await intake.received(2)
    assert asked.text in {"[poll: Tea? yes / no way]", "[poll: Tea? <b>yes</b> / no way]"}
    assert reply.quote == asked.text


@pytest.mark.parametrize("content", [{}, {_UNSTABLE: 5}, {_UNSTABLE: {"answers": [1, {}]}}])
async def test_a_poll_without_words_stops_nothing(
    matrix: MatrixServer, content: dict[str, Any]
) -> None:
    async with receiving(channel(matrix), FakeIntake()) as intake:
        matrix.rooms.add(matrix.dm, _UNSTABLE, content, sender=ANN)
        matrix.say(matrix.dm, "still here")
        await intake.until(lambda: any(m.text == "still here" for m in intake.messages))


async def test_an_answer_to_a_file_names_it(matrix: MatrixServer) -> None:
    async with receiving(channel(matrix), FakeIntake()) as intake:
        url = matrix.file(b"bytes", "image/png")
        file = matrix.say(matrix.dm, "b.png", msgtype="m.image", url=url)
        matrix.say(
            matrix.dm, "what is it?", **about({"m.in_reply_to": {"event_id": file["event_id"]}})
        )
        answer = (await intake.received(2))[1]
    assert answer.quote == "[image b.png]"


async def test_files_come_with_their_captions(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    async with receiving(bot, FakeIntake()) as intake:
        url = matrix.file(b"bytes", "image/png")
        info = {"mimetype": "image/png", "size": 5}
        matrix.say(matrix.dm, "look", msgtype="m.image", filename="a.png", url=url, info=info)
        matrix.say(matrix.dm, "b.ogg", msgtype="m.audio", url=url, info={"size": "big"})
        matrix.say(matrix.dm, "c.bin", msgtype="m.file", file={"url": url})
        image, audio, locked = await intake.received(3)
        assert await bot.fetch(image.attachments[0], 100) == b"bytes"
    assert image.text == "look"
    assert (image.attachments[0].kind, image.attachments[0].name) == ("image", "a.png")
    assert (audio.text, audio.attachments[0].kind, audio.attachments[0].size) == ("", "audio", 0)
    assert "encrypted" in locked.attachments[0].error


async def test_a_voice_message_is_recorded_by_its_sender(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    async with receiving(bot, FakeIntake()) as intake:
        url = matrix.file(b"bytes", "audio/ogg")
        voice: dict[str, Any] = {"org.matrix.msc3245.voice": {}}
        matrix.say(matrix.dm, "a.ogg", msgtype="m.audio", url=url, **voice)
        matrix.say(matrix.dm, "b.ogg", msgtype="m.audio", url=url)
        matrix.say(matrix.dm, "c.png", msgtype="m.image", url=url, **voice)
        messages = await intake.received(3)
    assert [message.attachments[0].recorded for message in messages] == [True, False, False]


async def test_what_was_read_and_meant_gets_a_receipt(matrix: MatrixServer) -> None:
    group(matrix)
    async with receiving(channel(matrix), FakeIntake()):
        matrix.say(GROUP, "among us")
        last = matrix.say(matrix.dm, "for you")["event_id"]
        await matrix.until(lambda: bool(matrix.receipts))
    assert matrix.receipts == {matrix.dm: [last]}


@pytest.mark.parametrize("number", [float("inf"), 1e300, -5, 10**400, "soon", None])
async def test_an_absurd_number_in_one_event_stops_nothing(number: Any) -> None:
    async with MatrixServer() as server:
        intake = FakeIntake()
        async with receiving(channel(server), intake):
            info = {"size": number, "mimetype": "image/png"}
            fields: dict[str, Any] = {"msgtype": "m.image", "url": "mxc://loopback/a"}
            fields["info"] = info
            server.say(server.dm, "a.png", **fields)["origin_server_ts"] = number
            server.say(server.dm, "still here")
            picture, text = await intake.received(2)
    assert text.text == "still here"
    assert abs(picture.sent_at - text.sent_at) < 3600


async def test_a_room_whose_name_is_no_unicode_stops_nothing(matrix: MatrixServer) -> None:
    """It is asked about again and again otherwise: the position moves when all of it is read."""
    group(matrix)
    async with receiving(channel(matrix), FakeIntake()) as intake:
        gone = {"body": "x", "replacement_room": "\ud800"}
        matrix.rooms.add(GROUP, "m.room.tombstone", gone, sender=ANN, state_key="")
        matrix.say(matrix.dm, "odd", **about({"m.in_reply_to": {"event_id": "\ud800"}}))
        matrix.say(matrix.dm, "still here")
        messages = await intake.received(2)
    assert messages[-1].text == "still here"
