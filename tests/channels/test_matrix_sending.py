"""What the bot says in rooms, and what becomes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from nanobot.errors import (
    ChannelDown,
    ChatGone,
    ConfigError,
    DeliveryError,
    NotSent,
    OutcomeUnknown,
    Refused,
)
from nanobot.messages import Address, Attachment
from nanobot.ports import OutboundPart, Reaction
from nanobot_channels.matrix import MatrixChannel, open_channel
from tests.channels.matrixing import account, answer, channel, group, receiving
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_rooms import ME
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.sounds import opus

PART = OutboundPart(text="hello", key="run:1:0")
PICTURE = Attachment(kind="image", name="a.png", mime="image/png")


@pytest.fixture
async def bot(matrix: MatrixServer) -> AsyncIterator[MatrixChannel]:
    matrix_channel = channel(matrix)
    yield matrix_channel
    await matrix_channel.close()


def dm(server: MatrixServer, thread: str | None = None) -> Address:
    return Address("matrix", server.dm, thread)


async def test_an_answer_has_text_and_html_and_mentions_nobody(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    (part,) = bot.render(answer("**bold** @room", matrix.dm))
    await bot.send(dm(matrix), part)
    await bot.close()
    (content,) = matrix.mine(matrix.dm)
    assert content["body"] == "**bold** @room"
    assert content["formatted_body"] == "<p><strong>bold</strong> @room</p>"
    assert content["m.mentions"] == {}
    assert content["com.beeper.linkpreviews"] == []
    assert content["msgtype"] == "m.text"


async def test_what_is_refused_as_html_can_go_out_plain(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    (part,) = bot.render(answer("**bold**", matrix.dm))
    await bot.send(dm(matrix), part, plain=True)
    await bot.close()
    assert "formatted_body" not in matrix.mine(matrix.dm)[0]


async def test_the_same_part_twice_is_one_message_even_after_a_restart() -> None:
    async with MatrixServer() as server:
        ids = []
        for _ in range(2):
            bot = MatrixChannel("matrix", account(server, password=server.password))
            ids.append(await bot.send(dm(server), PART))
            await bot.close()
        assert ids[0] == ids[1]
        assert server.texts(server.dm) == ["hello"]


async def test_a_part_whose_answer_got_lost_is_found(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    assert await bot.find(dm(matrix), PART, 0.0) is None
    matrix.fail("/send/", times=2, drop="after")
    with pytest.raises(OutcomeUnknown):
        await bot.send(dm(matrix), PART)
    for number in range(150):
        matrix.say(matrix.dm, str(number))
    event_id = await bot.find(dm(matrix), PART, 0.0)
    await bot.close()
    assert event_id == next(
        entry.event["event_id"] for entry in matrix.rooms.stream if entry.event["sender"] == ME
        and entry.event["type"] == "m.room.message"
    )  # fmt: skip


async def test_a_thread_is_answered_in_the_thread(matrix: MatrixServer, bot: MatrixChannel) -> None:
    (part,) = bot.render(answer("here", matrix.dm, reply_to="$asked"))
    await bot.send(dm(matrix, "$root"), part)
    await bot.send(dm(matrix, "$root"), PART)
    reply, plain = (content["m.relates_to"] for content in matrix.mine(matrix.dm))
    assert reply == {
        "rel_type": "m.thread",
        "event_id": "$root",
        "is_falling_back": False,
        "m.in_reply_to": {"event_id": "$asked"},
    }
    assert plain["is_falling_back"]


async def test_an_answer_in_a_group_replies_and_one_to_a_person_alone_does_not() -> None:
    async with MatrixServer() as server:
        bot, intake = channel(server), FakeIntake()
        chats = (group(server), server.dm)
        async with receiving(bot, intake):
            for chat in chats:
                server.say(chat, "nano: hi")
            questions = {entry.address: entry.message_id for entry in await intake.received(2)}
            for address, question in questions.items():
                (part,) = bot.render(answer("hello", address.chat_id, reply_to=question))
                await bot.send(address, part)
        contents = [content for chat in chats for content in server.mine(chat)]
    in_group, alone = (content.get("m.relates_to") for content in contents)
    assert in_group == {"m.in_reply_to": {"event_id": questions[Address("matrix", chats[0])]}}
    assert alone is None


async def test_a_preview_becomes_the_answer(matrix: MatrixServer, bot: MatrixChannel) -> None:
    event_id = await bot.send(dm(matrix), PART)
    for text in ("a **b**", "hello", "a **b**"):
        (part,) = bot.render(answer(text, matrix.dm))
        await bot.edit(dm(matrix), event_id, part)
    (content,) = matrix.mine(matrix.dm)
    assert content["body"] == "a **b**"
    assert content["formatted_body"] == "<p>a <strong>b</strong></p>"


async def test_the_longest_edit_is_taken(matrix: MatrixServer, bot: MatrixChannel) -> None:
    event_id = await bot.send(dm(matrix), PART)
    for part in bot.render(answer('"<&**x**> \\' * 9_000, matrix.dm)):
        await bot.edit(dm(matrix), event_id, part)


@pytest.mark.parametrize(
    ("fault", "error", "seconds"),
    [
        (
            {"status": 429, "answer": {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 2500}},
            NotSent,
            2.5,
        ),
        ({"status": 429}, NotSent, None),
        ({"status": 403, "answer": {"errcode": "M_FORBIDDEN"}}, ChatGone, None),
        ({"status": 404, "answer": {"errcode": "M_NOT_FOUND"}}, ChatGone, None),
        ({"status": 413, "answer": {"errcode": "M_TOO_LARGE"}}, Refused, None),
        ({"status": 400, "answer": {"errcode": "M_BAD_JSON"}}, Refused, None),
        ({"status": 403, "answer": {"errcode": "M_CONSENT_NOT_GIVEN"}}, NotSent, None),
        ({"status": 401, "answer": {"errcode": "M_UNKNOWN_TOKEN"}}, NotSent, None),
        ({"status": 502}, OutcomeUnknown, None),
        ({"status": 504, "drop": "after"}, OutcomeUnknown, None),
        ({"status": 408}, OutcomeUnknown, None),
        ({"status": 404}, NotSent, None),
        ({"status": 500, "answer": {"errcode": "M_UNKNOWN"}}, OutcomeUnknown, None),
        ({"status": 503, "answer": {"errcode": "M_RESOURCE_LIMIT_EXCEEDED"}}, NotSent, None),
        ({"drop": "before", "times": 2}, OutcomeUnknown, None),
        ({"body": b"<html>"}, OutcomeUnknown, None),
        ({"body": b"{}"}, OutcomeUnknown, None),
    ],
)
async def test_what_becomes_of_a_message_is_said_in_the_words_of_the_port(
    fault: dict[str, Any], error: type[DeliveryError], seconds: float | None, matrix: MatrixServer
) -> None:
    bot = channel(matrix)
    matrix.fail("/send/", **fault)
    with pytest.raises(error) as failed:
        await bot.send(dm(matrix), PART)
    await bot.close()
    assert type(failed.value) is error
    if isinstance(failed.value, NotSent):
        assert failed.value.retry_after == seconds
        assert failed.value.scope == ("bot" if fault.get("status") == 429 else "chat")


async def test_with_a_password_a_lost_session_is_made_anew_for_the_next_try() -> None:
    async with MatrixServer() as server:
        bot = MatrixChannel("matrix", account(server, password=server.password))
        await bot.typing(dm(server))
        server.sessions.clear()
        with pytest.raises(NotSent):
            await bot.send(dm(server), PART)
        await bot.send(dm(server), PART)
        await bot.close()
        assert server.texts(server.dm) == ["hello"]
        assert server.typing == [server.dm]


async def test_what_cannot_sign_in_has_sent_nothing(matrix: MatrixServer) -> None:
    bot = MatrixChannel("matrix", account(matrix, password="wrong"))
    with pytest.raises(NotSent):
        await bot.send(dm(matrix), PART)
    await bot.close()


async def test_a_reaction_takes_the_place_of_the_one_before(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    event_id = matrix.say(matrix.dm, "hello")["event_id"]
    for mark in (Reaction.RECEIVED, Reaction.DONE):
        await bot.react(dm(matrix), event_id, mark)
    await bot.close()
    keys = [
        entry.event["content"]["m.relates_to"]["key"]
        for entry in matrix.rooms.of(matrix.dm)
        if entry.event["type"] == "m.reaction" and entry.event["content"]
    ]
    assert keys == ["\N{WHITE HEAVY CHECK MARK}"]


async def test_a_file_goes_out_with_its_caption_once(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    part = msgspec.structs.replace(PART, file=PICTURE)
    ids = [await bot.send_file(dm(matrix), part, b"bytes") for _ in range(2)]
    assert await bot.find(dm(matrix), part, 0.0) == ids[0] == ids[1]
    await bot.close()
    (content,) = matrix.mine(matrix.dm)
    assert (content["msgtype"], content["body"]) == ("m.image", "hello")
    assert content["filename"] == "a.png"
    assert matrix.media[content["url"]] == ("image/png", b"bytes")


async def test_a_spoken_answer_is_a_voice_message(matrix: MatrixServer, bot: MatrixChannel) -> None:
    spoken = Attachment("voice", name="answer.ogg", mime="audio/ogg")
    for content in (opus([10] * 50 + [90] * 50), b"ID3"):
        part = OutboundPart(text="", key=f"v:{len(content)}", file=spoken)
        await bot.send_file(dm(matrix), part, content)
    voice, broken = matrix.mine(matrix.dm)
    assert voice["msgtype"] == broken["msgtype"] == "m.audio"
    assert voice["org.matrix.msc3245.voice"] == {}
    assert voice["org.matrix.msc1767.audio"] == {
        "duration": 2000,
        "waveform": [0] * 10 + [1020] * 10,
    }
    assert voice["info"]["duration"] == 2000
    assert "org.matrix.msc3245.voice" not in broken


async def test_a_file_that_is_too_large_over_there_is_refused_in_words() -> None:
    async with MatrixServer() as server:
        server.upload_limit = 3
        bot = channel(server)
        with pytest.raises(Refused, match=r"a\.png has 5 bytes"):
            await bot.send_file(dm(server), msgspec.structs.replace(PART, file=PICTURE), b"bytes")
        server.fail("/upload", drop="before", times=2)
        with pytest.raises(NotSent):
            await bot.send_file(dm(server), msgspec.structs.replace(PART, file=PICTURE), b"b")
        await bot.close()


async def test_files_are_fetched_up_to_a_size_from_old_servers_too(matrix: MatrixServer) -> None:
    bot = channel(matrix)
    file = Attachment(kind="document", ref=matrix.file(b"x" * 500))
    assert await bot.fetch(file, 500) == b"x" * 500
    matrix.old_media = True
    assert await bot.fetch(file, 500) == b"x" * 500
    with pytest.raises(Refused, match="too large"):
        await bot.fetch(file, 499)
    with pytest.raises(Refused, match="send it again"):
        await bot.fetch(Attachment(kind="document", ref="mxc://loopback/gone"), 500)
    with pytest.raises(Refused, match="where the file is"):
        await bot.fetch(Attachment(kind="document", ref="https://evil.example/x"), 500)
    matrix.fail("/download/", status=504, answer={"errcode": "M_NOT_YET_UPLOADED"})
    with pytest.raises(ChannelDown):
        await bot.fetch(file, 500)
    await bot.close()


async def test_the_token_stands_in_no_address(matrix: MatrixServer, bot: MatrixChannel) -> None:
    await bot.send(dm(matrix), PART)
    assert matrix.texts(matrix.dm) == ["hello"], "the double takes no token in an address"


HOME = "https://matrix.example.org"
GOOD: dict[str, object] = {"homeserver": HOME, "user": "@n:example.org", "password": "p"}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "homeserver is missing"),
        ({"homeserver": "matrix.example.org"}, r"homeserver is not an http\(s\) URL"),
        ({"homeserver": 7}, "homeserver is 7"),
        ({"homeserver": HOME}, "are both missing"),
        (GOOD | {"access_token": "t"}, "are both set"),
        (GOOD | {"user": ""}, "user is missing"),
        (GOOD | {"user": "n n"}, "user is 'n n'"),
        (GOOD | {"invites": "some"}, "invites is 'some'"),
        (GOOD | {"backfill_messages": -1}, "backfill_messages is -1"),
        (GOOD | {"backfill_messages": True}, "backfill_messages is True"),
    ],
)
def test_settings_that_cannot_work_say_so(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=rf"^channels\.mx\..*{complaint}"):
        open_channel("mx", settings)


@pytest.mark.parametrize("user", ["@n:example.org", "n", "@n:example.org:8448"])
def test_settings_that_work_open_a_channel(user: str) -> None:
    open_channel("mx", GOOD | {"user": user})


async def test_a_deleted_message_is_redacted_once_and_an_unknown_one_refused(
    matrix: MatrixServer, bot: MatrixChannel
) -> None:
    number = await bot.send(dm(matrix), PART)
    await bot.delete(dm(matrix), number)
    assert matrix.mine(matrix.dm) == []
    with pytest.raises(Refused):
        await bot.delete(dm(matrix), "$nothing")
    matrix.fail("/redact/", status=403, answer={"errcode": "M_FORBIDDEN"})
    with pytest.raises(Refused):  # of this message, and says nothing of the room
        await bot.delete(dm(matrix), number)
