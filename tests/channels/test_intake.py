"""From what a platform delivered to what is admitted: who, what, and an answer at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.bus.gate import Gate
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import reception
from nanobot.messages import Address, Attachment, InboundMessage, Role, Sender
from nanobot.operations.dispatcher import Dispatcher
from nanobot.ports import Capabilities
from nanobot.session.entries import UserEntry
from nanobot.store.database import schema
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.platform import MEMBER, OWNER
from nanobot.text import MAX_TEXT
from tests.agent.tooling import bodies

STRANGER = "666"


def kept(bot: FakeGateway) -> list[InboundMessage]:
    """Every message the store holds, as it holds it."""
    rows = bot.home.do(
        lambda connection: connection.execute(
            schema.inbound.select().order_by(schema.inbound.c.id)
        ).all()
    )
    return [msgspec.json.decode(row.body, type=InboundMessage) for row in rows]


async def test_owners_and_members_are_answered_and_their_role_is_kept(bot: FakeGateway) -> None:
    for sender in (OWNER, MEMBER):
        await bot.channel.push("hello", sender=sender)
        assert (await bot.channel.pop()).text == "echo: hello"
    assert [entry.role for entry in bodies(bot, UserEntry)] == [Role.OWNER, Role.MEMBER]


async def test_a_stranger_is_told_once_a_day_whom_to_ask_and_nothing_is_read() -> None:
    async with gateway(options=Options()) as bot:
        for text in ("let me in", "please", "/help"):
            await bot.channel.push(text, sender=STRANGER)
        notice = await bot.channel.pop()
        assert "This assistant is private. Your id here is `666`" in notice.text
        assert "channels.fake.members" in notice.text
        await bot.settle()
        assert len(bot.channel.sent) == 1
        assert bot.provider.requests == []
        assert [message.text for message in kept(bot)] == ["", "", ""]


async def test_an_edit_that_adds_the_mention_is_a_message(bot: FakeGateway) -> None:
    await bot.channel.push("the time?", key="1", group=True, addressed=False)
    for _ in range(2):  # delivered twice
        await bot.channel.push("bot, the time?", key="1 edited", group=True, edit_of="1")
    assert (await bot.channel.pop()).text.endswith("bot, the time?")
    await bot.settle()
    assert len(bot.provider.requests) == 1


async def test_nobody_is_let_in_when_nobody_is_named() -> None:
    async with gateway(options=Options(owners=(), members=())) as bot:
        await bot.channel.push("hello")
        assert "private" in (await bot.channel.pop()).text


async def test_what_no_chat_needs_is_taken_out_of_a_text(bot: FakeGateway) -> None:
    await bot.channel.push("a\x00b\x1b[0m\ud83d\r\nc")
    assert (await bot.channel.pop()).text == "echo: ab[0m\nc"


@pytest.mark.parametrize("text", ["", "  \n\t", "\x00\x07", "\u200e\ufeff", "\u3164"])
async def test_an_empty_message_is_answered_at_once(text: str, bot: FakeGateway) -> None:
    await bot.channel.push(text)
    assert "Your message was empty" in (await bot.channel.pop()).text
    assert bot.provider.requests == []


async def test_a_file_without_a_word_is_not_empty(bot: FakeGateway) -> None:
    await bot.channel.push("", attachments=(Attachment("photo", ref="x"),))
    await bot.provider.asked(1)


async def test_a_message_of_the_greatest_length_is_taken_and_a_longer_one_refused() -> None:
    async with gateway() as bot:
        await bot.channel.push("x" * (MAX_TEXT + 1))
        assert "This message has 1,000,001 characters" in (await bot.channel.pop()).text
        assert bot.provider.requests == []
        assert len(kept(bot)[0].text) == MAX_TEXT
        await bot.channel.push("x" * MAX_TEXT)
        await bot.provider.asked(1)


async def test_the_same_message_is_answered_once(bot: FakeGateway) -> None:
    for _ in range(3):
        await bot.channel.push("hello", key="u1")
    assert (await bot.channel.pop()).text == "echo: hello"
    await bot.channel.push("/help", key="u2")
    await bot.channel.push("/help", key="u2")
    await bot.channel.pop()
    await bot.settle()
    assert len(bot.channel.sent) == 2


async def test_the_cursor_is_kept_with_the_messages(bot: FakeGateway) -> None:
    assert await bot.intake.cursor() is None
    await bot.channel.push("hello", key="u7")
    assert await bot.intake.cursor() == "u7"
    await bot.intake.admit([], cursor="u8")
    assert await bot.intake.cursor() == "u8"
    await bot.intake.admit([])
    assert await bot.intake.cursor() == "u8"


async def test_a_message_can_be_taken_into_another_session(bot: FakeGateway) -> None:
    message = await bot.channel.push("hello")
    again = msgspec.structs.replace(message, dedupe_key="other")
    await bot.intake.take([again], session="cli:direct")
    await bot.channel.pop()
    await bot.channel.pop()
    assert len(bodies(bot, UserEntry, "cli:direct")) == 1


async def test_a_discreet_channel_tells_strangers_nothing_and_its_threads_are_conversations() -> (
    None
):
    able = Capabilities(discreet=True, threads=True)
    async with gateway() as bot:
        gate = Gate((OWNER,), (), able=able)
        intake = ChannelIntake("fake", gate, bot.bus, reception(Dispatcher(bot.engine)), "chat")
        for sender in (STRANGER, OWNER):
            message = InboundMessage(
                address=Address("fake", sender, "thread"),
                message_id="1",
                dedupe_key="1",
                sender=Sender(sender),
                text="hello",
                sent_at=1.0,
            )
            done = await intake.take([message])
            assert len(done) == (sender == OWNER)
        assert [entry.text for entry in kept(bot)] == ["hello"]
        assert len(await bot.bus.journal.owed_chats("fake")) == 0
        keys = bot.home.do(lambda on: on.execute(sa.select(schema.inbound.c.session_key)).all())
        assert [key for (key,) in keys] == [f"fake:{OWNER}:thread"]


@pytest.mark.parametrize("sent_at", [float("nan"), float("inf"), -1.0, 9e15, 1e308, 2.6e11])
async def test_a_time_that_cannot_be_is_taken_for_now_and_the_chat_goes_on(sent_at: float) -> None:
    async with gateway() as bot:
        await bot.channel.push("from another age", sent_at=sent_at)
        assert (await bot.channel.pop()).text == "echo: from another age"
        await bot.channel.push("and today")
        assert (await bot.channel.pop()).text == "echo: and today"
        first, _ = bodies(bot, UserEntry)
        assert first.sent_at == bot.engine.now()


async def test_a_file_larger_than_any_disk_is_a_file_like_any_other(bot: FakeGateway) -> None:
    file = Attachment("document", name="all.zip", size=10**400)
    await bot.channel.push("look", attachments=(file,))
    assert "all.zip" in (await bot.channel.pop()).text
    assert bodies(bot, UserEntry)[0].attachments[0].size == 2**53


@pytest.mark.parametrize("bad", ["\ud83d", "1\0"])
@pytest.mark.parametrize("of", ["message", "chat", "thread", "sender"])
async def test_a_message_whose_id_not_every_store_can_keep_holds_up_no_other(
    of: str, bad: str
) -> None:
    """PostgreSQL leaves out a NUL: "1\\0" would be somebody else there, who is an owner."""
    async with gateway() as bot:
        well = InboundMessage(
            address=Address("fake", "1"),
            message_id="2",
            dedupe_key="2",
            sender=Sender(OWNER),
            text="well",
            sent_at=1.0,
        )
        ids: dict[str, dict[str, Any]] = {
            "message": {"message_id": bad, "dedupe_key": bad},
            "chat": {"address": Address("fake", bad)},
            "thread": {"address": Address("fake", "1", bad)},
            "sender": {"sender": Sender(bad)},
        }
        odd = msgspec.structs.replace(
            well, text="odd", **({"message_id": "1", "dedupe_key": "1"} | ids[of])
        )
        await bot.intake.admit([odd, well], "7")
        await bot.channel.pop("1")
        assert [message.text for message in kept(bot)] == ["well"]
        assert [body.text for body in bodies(bot, UserEntry)] == ["well"]
        assert await bot.intake.cursor() == "7"
