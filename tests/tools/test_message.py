"""Messages that the model sends before its answer, and to other chats."""

from __future__ import annotations

import pytest

from nanobot.session.entries import PostEntry, ToolResultEntry
from nanobot.testing import MEMBER, FakeGateway, MemoryHome, ScriptedProvider, asks_for, gateway
from nanobot.tools.message import message_tool
from tests.agent.tooling import bodies

TOOLS = [message_tool({"fake"})]


def results(bot: FakeGateway) -> list[str]:
    return [result.text for result in bodies(bot, ToolResultEntry)]


async def test_it_reaches_its_own_chat_before_the_answer() -> None:
    model = ScriptedProvider(asks_for("message", content="one moment"), "here it is")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("go", sender=MEMBER)
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["one moment", "here it is"]
        assert results(bot)[0].startswith("queued for this chat")
        assert bodies(bot, PostEntry) == []


async def test_another_chat_gets_it_and_its_log_has_it() -> None:
    model = ScriptedProvider(asks_for("message", content="dinner!", chat_id="2"), "told them")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("tell the others")
        assert (await bot.channel.pop("2")).text == "dinner!"
        assert (await bot.channel.pop("1")).text == "told them"
        (post,) = bodies(bot, PostEntry, "fake:2")
        assert post.text == "dinner!"
        assert bot.home.verify("fake:2") == 1


async def test_a_members_message_to_another_chat_needs_an_owners_word() -> None:
    model = ScriptedProvider("hi", asks_for("message", content="psst", chat_id="2"), "sent")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("hello", chat="9")
        await bot.channel.pop("9")
        await bot.channel.push("tell chat 2", sender=MEMBER)
        asked = (await bot.channel.pop("9")).text
        assert "members write to their own chat only" in asked
        await bot.channel.push("/approve 1", chat="9")
        assert (await bot.channel.pop("2")).text == "psst"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"content": " "}, "there is nothing to say"),
        ({"content": ""}, "content: expected string of length >= 1"),
        ({"content": "x", "channel": "pigeon", "chat_id": "1"}, 'there is no "pigeon"; fake are'),
        ({"content": "x", "channel": "pigeon"}, "chat_id: required with another channel"),
        ({"content": "x", "chat_id": " "}, "chat_id: must name a chat"),
    ],
)
async def test_what_cannot_be_sent_is_told(arguments: dict[str, str], told: str) -> None:
    model = ScriptedProvider(asks_for("message", **arguments), "no")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
        assert told in results(bot)[0]
        await bot.settle()
        assert len(bot.channel.sent) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_its_result_sends_it_exactly_once(when: str) -> None:
    model = ScriptedProvider(
        asks_for("message", content="once", chat_id="2"), otherwise=lambda _: "done"
    )
    async with MemoryHome() as home:
        async with gateway(model, tools=TOOLS, home=home) as bot:

            def crash(verb: str) -> None:
                if verb == "record_result":
                    bot.crash()

            setattr(bot.process, when, crash)
            await bot.channel.push("go")
            await bot.settle()
        async with gateway(model, tools=TOOLS, home=home) as bot:
            assert (await bot.channel.pop("2")).text == "once"
            assert (await bot.channel.pop("1")).text == "done"
            await bot.settle()
            assert len(bodies(bot, PostEntry, "fake:2")) == 1
            assert len(bodies(bot, ToolResultEntry)) == 1
