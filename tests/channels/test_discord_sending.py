"""Discord says exactly what became of a message, and takes none twice."""

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
    ThreadGone,
    Uncertain,
)
from nanobot.messages import Address, Attachment, Choice, OutboundMessage
from nanobot.ports import (
    Channel,
    Commanding,
    Editing,
    Fetching,
    Filing,
    MenuCommand,
    OutboundPart,
    Reacting,
    Reaction,
    SelfChecking,
)
from nanobot.testing.machine import ManualClock
from nanobot_channels.discord import FILE_LIMIT, DiscordChannel, Server, open_channel
from nanobot_channels.discord.messages import Message, User
from nanobot_channels.discord.parts import nonce_of
from nanobot_channels.discord.sent import SentMessages
from tests.channels.discording import DM, GENERAL, IN_THREAD, opened, receiving
from tests.doubles import discord_server
from tests.doubles.discord_rules import ROW, nested, shown_text
from tests.doubles.discord_server import CHANNEL, ME, THREAD, DiscordServer
from tests.doubles.fake_intake import FakeIntake

CHAT = discord_server.DM
POST = "POST /channels/{channel}/messages"
PART = OutboundPart(text="hello", key="run:0")


@pytest.fixture
async def channel(discord: DiscordServer) -> AsyncIterator[DiscordChannel]:
    async with opened(discord) as running:
        yield running


def outbound(text: str, address: Address = DM, **fields: Any) -> OutboundMessage:
    return OutboundMessage(address=address, text=text, key="run", **fields)


async def test_a_part_is_sent_formatted_as_a_reply_that_pings_nobody(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    question = discord.add_message(CHANNEL, "hi")
    message = outbound("**bold** @everyone 1 * 2", GENERAL, reply_to=question["id"])
    (part,) = channel.render(message)
    number = await channel.send(GENERAL, part)
    reply = await discord.reply_in(CHANNEL)
    assert reply["id"] == number
    assert reply["content"] == "**bold** @everyone 1 * 2"
    body = discord.calls_of(POST)[0].json
    assert body["allowed_mentions"] == {"parse": [], "replied_user": False}
    assert body["message_reference"] == {"message_id": question["id"], "fail_if_not_exists": False}
    assert body["flags"] == 4
    assert body["enforce_nonce"] is True
    await channel.send(GENERAL, msgspec.structs.replace(part, key="run:1"), plain=True)
    assert discord.mine(CHANNEL)[-1]["content"] == r"bold @everyone 1 \* 2"


async def test_with_one_person_alone_nothing_is_a_reply(
    discord: DiscordServer, channel: DiscordChannel, intake: FakeIntake
) -> None:
    async with receiving(channel, intake):
        question = await discord.say(CHAT, "hi")
        await intake.received(1)
        (part,) = channel.render(outbound("hello", reply_to=question["id"]))
        await channel.send(DM, part)
    assert "message_reference" not in discord.calls_of(POST)[0].json


async def test_a_thread_is_written_to_where_it_is(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    await channel.send(IN_THREAD, PART)
    await channel.send(GENERAL, PART)
    assert [len(discord.mine(place)) for place in (THREAD, CHANNEL)] == [1, 1]


async def test_a_part_that_is_sent_again_is_taken_once(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    first = await channel.send(DM, PART)
    assert await channel.send(DM, PART) == first
    assert len(discord.mine(CHAT)) == 1


FAULTS: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"status": 401}, NotSent),
    ({"status": 403, "code": 50001}, ChatGone),
    ({"status": 403, "code": 50007}, ChatGone),
    ({"status": 403, "code": 50013}, ChatGone),
    ({"status": 403, "code": 20026}, Refused),
    ({"status": 404, "code": 10003}, ChatGone),
    ({"status": 400, "code": 50035}, Refused),
    ({"status": 400, "code": 50083}, ThreadGone),
    ({"status": 400, "code": 160005}, ThreadGone),
    ({"status": 413, "code": 40005}, Refused),
    ({"status": 429, "retry_after": 4.5}, NotSent),
    ({"status": 429, "body": b"<html>banned</html>"}, NotSent),
    ({"status": 500}, OutcomeUnknown),
    ({"status": 502, "body": b"<html>Bad Gateway</html>"}, OutcomeUnknown),
    ({"status": 504, "body": b"", "drop": "after"}, OutcomeUnknown),
    ({"status": 503, "body": b'["a list"]'}, OutcomeUnknown),
    ({"status": 503, "code": 130000}, NotSent),
    ({"status": 408, "body": b""}, OutcomeUnknown),
    ({"drop": "before"}, OutcomeUnknown),
    ({"drop": "after"}, OutcomeUnknown),
    ({"body": b"not json"}, OutcomeUnknown),
    ({"body": b"{}"}, OutcomeUnknown),
    ({"body": b"7"}, OutcomeUnknown),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=str)
async def test_a_failed_send_tells_what_became_of_it(
    discord: DiscordServer,
    channel: DiscordChannel,
    fault: dict[str, Any],
    expected: type[Exception],
) -> None:
    failure = discord.fail(POST, **fault)
    with pytest.raises(DeliveryError) as raised:
        await channel.send(DM, PART)
    assert type(raised.value) is expected
    assert discord.token not in str(raised.value)
    assert failure.hits == 1
    applied = ("body" in fault and "status" not in fault) or fault.get("drop") == "after"
    assert bool(discord.mine(CHAT)) == applied
    await channel.send(DM, PART)
    assert len(discord.mine(CHAT)) == 1


@pytest.mark.parametrize("code", [10003, 50001, 50013])
async def test_a_thread_that_is_gone_is_not_the_channel_around_it(
    discord: DiscordServer, channel: DiscordChannel, code: int
) -> None:
    discord.fail(POST, status=403, code=code, times=2)
    with pytest.raises(ThreadGone):
        await channel.send(IN_THREAD, PART)
    with pytest.raises(ChatGone):
        await channel.send(GENERAL, PART)


async def test_a_rate_limit_says_when_to_try_again(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.fail(POST, status=429, retry_after=4.5)
    with pytest.raises(NotSent) as raised:
        await channel.send(DM, PART)
    assert raised.value.retry_after == 4.5


async def test_a_rate_limit_of_the_whole_bot_is_told_from_that_of_a_chat(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    scopes = []
    for scope in ("user", "global"):
        discord.fail(POST, status=429, retry_after=4.5, scope=scope)
        with pytest.raises(NotSent) as raised:
            await channel.send(DM, PART)
        scopes.append((raised.value.scope, raised.value.retry_after))
    assert scopes == [("chat", 4.5), ("bot", 4.5)]
    discord.fail(POST, status=429, body=b"<html>banned</html>")
    with pytest.raises(NotSent) as raised:
        await channel.send(DM, PART)
    assert raised.value.scope == "bot"


async def test_a_refused_connection_means_not_sent() -> None:
    async with DiscordServer() as stopped:
        pass
    async with opened(stopped) as channel:
        with pytest.raises(NotSent):
            await channel.send(DM, PART)
        with pytest.raises(ChannelDown):
            await channel.check()
        with pytest.raises(ChannelDown):
            await channel.run(FakeIntake())


async def test_after_closing_nothing_is_sent(channel: DiscordChannel) -> None:
    await channel.close()
    with pytest.raises(NotSent):
        await channel.send(DM, PART)


async def test_an_address_that_is_not_of_discord_is_gone(channel: DiscordChannel) -> None:
    with pytest.raises(ChatGone):
        await channel.send(Address("discord", "../users"), PART)


async def test_the_gateway_tells_what_became_of_a_part(
    discord: DiscordServer, channel: DiscordChannel, intake: FakeIntake
) -> None:
    async with receiving(channel, intake):
        discord.fail(POST, drop="after")
        with pytest.raises(OutcomeUnknown):
            await channel.send(DM, PART)
        await discord.say(CHAT, "so that what came before has been read")
        await intake.received(1)
        assert await channel.find(DM, PART, 0.0) == discord.mine(CHAT)[0]["id"]
    assert len(intake.messages) == 1


FILE = OutboundPart(text="", key="run:2", file=Attachment(kind="document", name="a.pdf", size=4))


async def test_the_history_tells_what_became_of_a_part(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    question = discord.add_message(CHAT, "hi")
    (answer,) = channel.render(outbound("Done.", reply_to=question["id"]))
    began = discord.now
    for part in (answer, PART, FILE):
        assert await channel.find(DM, part, began) is None
    sent_ids = [
        await channel.send(DM, answer),
        await channel.send(DM, PART),
        await channel.send_file(DM, FILE, b"%PDF"),
    ]
    async with opened(discord) as next_process:
        ids = [await next_process.find(DM, part, began) for part in (answer, PART, FILE)]
    assert ids == sent_ids


async def test_the_same_words_from_before_the_send_are_an_earlier_answer(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    """Or the answer would never arrive, and nobody would hear of it."""
    text = "long enough to be nobody else's, and said once already " * 4
    earlier = OutboundPart(text=text, key="run:0")
    await channel.send(DM, earlier)
    discord.now += 3600
    part = msgspec.structs.replace(earlier, key="run:1")
    async with opened(discord, ManualClock(discord.now)) as next_process:
        assert await next_process.find(DM, part, discord.now) is None


async def test_the_same_words_from_about_the_time_of_the_send_leave_it_uncertain(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    earlier = await channel.send(DM, PART)
    discord.now += 5
    part = msgspec.structs.replace(PART, key="run:1")
    async with opened(discord, ManualClock(discord.now)) as next_process:
        with pytest.raises(Uncertain) as uncertain:
            await next_process.find(DM, part, discord.now)
    assert uncertain.value.perhaps == (earlier,)


async def test_a_wrong_clock_of_the_machine_makes_no_earlier_answer_of_the_send(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    await channel.send(DM, PART)
    part = msgspec.structs.replace(PART, key="run:1")
    discord.now += 3600
    for days in (40, -40):
        clock = ManualClock(discord.now + days * 86_400)
        async with opened(discord, clock) as next_process:
            assert await next_process.find(DM, part, clock.now()) is None


async def test_a_history_that_cannot_be_read_or_ends_too_soon_leaves_it_uncertain(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    """Without the permission for it Discord shows an empty one."""
    with pytest.raises(Uncertain):
        await channel.find(DM, PART, discord.now)
    for number in range(600):
        discord.add_message(CHAT, str(number))
    with pytest.raises(Uncertain):
        await channel.find(DM, PART, discord.now)


async def test_what_the_gateway_shows_while_the_history_is_read_is_no_other_part(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    sent_id = await channel.send(DM, PART)
    shown = Message(id=sent_id, channel_id=CHAT, author=User(id=ME), content=PART.text)
    sent = SentMessages()
    sent.record(msgspec.structs.replace(shown, nonce=nonce_of(PART)))
    assert sent.among([shown], PART, ME, discord.now - 1) == sent_id


async def test_a_nonce_in_the_history_is_certain(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.history_has_nonces = True
    await channel.send(DM, PART)
    another = msgspec.structs.replace(PART, key="run:1")
    assert await channel.find(DM, another, discord.now - 3600) is None
    assert await channel.find(DM, PART, discord.now - 3600) == discord.mine(CHAT)[0]["id"]


async def test_a_message_is_edited_and_one_that_is_gone_is_refused(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    number = await channel.send(DM, PART)
    await channel.edit(DM, number, OutboundPart(text="better"))
    await channel.edit(DM, number, OutboundPart(text="better"))
    assert discord.mine(CHAT)[0]["content"] == "better"
    with pytest.raises(Refused):
        await channel.edit(DM, "99", PART)


async def test_buttons_are_in_rows_and_the_rest_is_written_out(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    choices = tuple(Choice(f"Choice {n}", f"/pick {n}") for n in range(27))
    for part in channel.render(outbound("Which?", choices=(*choices, choices[0]))):
        await channel.send(DM, part)
    reply = await discord.reply_in(CHAT)
    every = [component for component in nested(reply["components"]) if component["type"] == ROW]
    rows = [[button["label"] for button in row["components"]] for row in every]
    assert [len(row) for row in rows] == [5] * 5
    assert rows[0] == [f"Choice {n}" for n in range(5)]
    assert "Choice 26: /pick 26" in shown_text(reply)


async def test_a_file_is_sent_with_its_caption_and_too_large_ones_are_refused(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    file = Attachment(kind="document", name="report.pdf", size=4)
    part = OutboundPart(text="Here it *is*", key="run:1", file=file)
    number = await channel.send_file(DM, part, b"%PDF")
    again = await channel.send_file(DM, part, b"%PDF")
    reply = await discord.reply_in(CHAT)
    assert number == again == reply["id"]
    assert reply["content"] == r"Here it \*is\*"
    assert discord.calls_of(POST)[0].files == [("report.pdf", b"%PDF")]
    with pytest.raises(Refused, match=r"10\.0 MB"):
        await channel.send_file(DM, part, bytes(FILE_LIMIT + 1))
    for fault in ({"status": 413, "code": 40005}, {"status": 403, "code": 50013}):
        discord.fail(POST, **fault)
        with pytest.raises(Refused):
            await channel.send_file(DM, part, b"%PDF")


async def test_a_file_is_fetched_through_a_fresh_address(
    discord: DiscordServer, channel: DiscordChannel, intake: FakeIntake
) -> None:
    upload = discord.attach(b"data", filename="a.png", content_type="image/png")
    async with receiving(channel, intake):
        await discord.say(CHAT, "look", attachments=[upload])
        message = (await intake.received(1))[0]
    (file,) = message.attachments
    assert (file.kind, file.name, file.mime, file.size) == ("image", "a.png", "image/png", 4)
    assert await channel.fetch(file, 100) == b"data"
    with pytest.raises(Refused):
        await channel.fetch(file, 3)
    with pytest.raises(Refused):
        await channel.fetch(msgspec.structs.replace(file, size=0), 3)
    discord.history[CHAT].clear()
    with pytest.raises(Refused):
        await channel.fetch(file, 100)
    discord.fail("GET /channels/{channel}/messages/{message}", status=503)
    with pytest.raises(ChannelDown):
        await channel.fetch(file, 100)
    with pytest.raises(Refused):
        await channel.fetch(Attachment(kind="image", ref="elsewhere"), 100)


async def test_one_reaction_takes_the_place_of_the_one_before(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    question = discord.add_message(CHAT, "hi")["id"]
    await channel.react(DM, question, Reaction.RECEIVED)
    assert discord.reactions[question] == ["👀"]
    await channel.react(DM, question, Reaction.DONE)
    assert discord.reactions[question] == ["✅"]
    async with opened(discord) as next_process:
        await next_process.react(DM, question, Reaction.FAILED)
    assert discord.reactions[question] == ["✅", "❌"]


async def test_typing_is_shown_where_the_answer_will_be(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    await channel.typing(IN_THREAD)
    (call,) = discord.calls_of("POST /channels/{channel}/typing")
    assert call.parts["channel"] == THREAD


async def test_commands_become_a_menu_with_one_entry_for_each_first_word(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    await channel.register(
        [
            MenuCommand("status", "How it is going"),
            MenuCommand("runs", "What runs", "[ID]"),
            MenuCommand("Runs stop", "Stop one", "ID"),
            MenuCommand("not/a name", "x"),
            MenuCommand("long", "y" * 300),
        ]
    )
    names = [entry["name"] for entry in discord.commands]
    assert names == ["status", "runs", "long", "Ask about this"]
    assert discord.commands[0]["options"] == []
    assert [entry["name"] for entry in discord.commands[1]["options"]] == ["argument"]
    assert len(discord.commands[2]["description"]) == 100


async def test_the_channel_is_everything_its_platform_can_do(channel: DiscordChannel) -> None:
    as_port: Channel = channel
    assert as_port.capabilities.reconciles
    for port in (SelfChecking, Editing, Fetching, Filing, Reacting, Commanding):
        assert isinstance(as_port, port)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, "token is missing"),
        ({"token": "has spaces"}, "token is not a bot token"),
        ({"token": "t", "api_root": "ftp://x"}, "api_root"),
        ({"token": "t", "gateway_url": "https://x"}, "gateway_url"),
        ({"token": "t", "backfill_messages": -1}, "backfill_messages"),
        ({"token": "t", "backfill_hours": "a day"}, "backfill_hours"),
        ({"token": "t", "message_content": "no"}, "message_content"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_named(settings: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        open_channel("discord", settings)


async def test_settings_that_work_open_a_channel(discord: DiscordServer) -> None:
    settings = {
        "token": f"Bot {discord.token}",
        "api_root": discord.api_root + "/",
        "gateway_url": discord.gateway_url,
        "backfill_messages": 10,
        "backfill_hours": 1.5,
    }
    channel = open_channel("discord", settings)
    async with receiving(channel) as intake:
        assert await channel.check() == "nano"
        await discord.say(CHAT, f"<@{ME}> hi")
        await intake.received(1)
    await channel.close()
    assert not discord.calls_of("GET /gateway/bot")
    assert Server().api_root == "https://discord.com/api/v10"


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ({"filename": "my_report.pdf", "size": 4}, True),  # Discord changes the blanks
        ({"filename": "other.pdf", "size": 4}, False),
        ({"filename": "my_report.pdf", "size": 5}, False),
    ],
)
async def test_a_file_is_found_by_its_size_and_name(
    discord: DiscordServer, there: dict[str, Any], found: bool
) -> None:
    discord.add_message(DM.chat_id, "hello")
    discord.add_message(DM.chat_id, attachments=[{"id": "1"} | there], author=discord.me)
    file = Attachment(kind="document", name="my report.pdf", size=4)
    async with opened(discord) as channel:
        part = OutboundPart(text="", key="k:1", file=file)
        number = await channel.find(DM, part, ManualClock().now() - 1.0)
    assert bool(number) == found


async def test_files_that_are_too_large_together_go_apart(discord: DiscordServer) -> None:
    def sized(*megabytes: int) -> list[Attachment]:
        return [Attachment(kind="document", name="a", size=number << 20) for number in megabytes]

    async with opened(discord) as channel:
        assert channel.together(sized(*[1] * 12)) == 10
        assert channel.together(sized(9, 9, 9)) == 2
        assert channel.together(sized(11, 1)) == 1
        assert channel.together([*sized(1), Attachment(kind="voice", name="v.ogg")]) == 1


async def test_a_deleted_message_is_gone_and_another_one_refused(discord: DiscordServer) -> None:
    async with opened(discord) as channel:
        number = await channel.send(DM, OutboundPart(text="half", key="k"))
        await channel.delete(DM, number)
        assert not discord.mine(DM.chat_id)
        with pytest.raises(Refused, match="Unknown Message"):
            await channel.delete(DM, number)
