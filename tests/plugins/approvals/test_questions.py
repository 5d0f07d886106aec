"""Questions of the model: who answers them, how, and what becomes of them meanwhile."""

from __future__ import annotations

import re

import pytest

from nanobot.messages import Attachment, Origin
from nanobot.plugins.approvals.ask_user import ask_tool
from nanobot.session.entries import ToolResultEntry
from nanobot.session.states import RunKind
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import ScriptedProvider, asks_for, last_text
from nanobot.testing.platform import MEMBER
from tests.agent.tooling import bodies

QUESTION = asks_for("ask_user", question="Which colour?", choices=["red", "blue"])


def results(bot: FakeGateway) -> list[tuple[str, bool]]:
    return [(result.text, result.ok) for result in bodies(bot, ToolResultEntry)]


async def test_the_asked_persons_next_words_are_the_answer() -> None:
    model = ScriptedProvider(QUESTION, "Green it is.")
    async with gateway(model, tools=[ask_tool()]) as bot:
        await bot.channel.push("paint it", sender=MEMBER)
        assert (await bot.channel.pop()).text.startswith("Which colour?\nred: /answer 1 1")
        await bot.channel.push("green", sender=MEMBER)
        assert (await bot.channel.pop()).text == "Green it is."
        assert results(bot) == [("green", True)]
        await bot.settle()
        assert len(model.requests) == 2


async def test_a_choice_that_is_pressed_is_the_answer() -> None:
    model = ScriptedProvider(QUESTION, "Blue it is.")
    async with gateway(model, tools=[ask_tool()]) as bot:
        await bot.channel.push("paint it", sender=MEMBER)
        await bot.channel.pop()
        await bot.channel.push("/answer 1 2", sender=MEMBER)
        assert (await bot.channel.pop()).text == "Answered: Which colour?"
        assert (await bot.channel.pop()).text == "Blue it is."
        assert results(bot) == [("blue", True)]


async def test_what_others_say_is_no_answer_and_nobody_waits_for_it() -> None:
    model = ScriptedProvider(QUESTION, "I asked.", "Hello.", "Blue, then.")
    async with gateway(model, tools=[ask_tool()]) as bot:
        await bot.channel.push("paint it", sender=MEMBER)
        await bot.channel.pop()
        await bot.channel.push("/answer 1 red")
        assert (await bot.channel.pop()).text == "You may not decide #1."
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "#1 still waits: /answer 1 TEXT."
        assert (await bot.channel.pop()).text == "I asked."
        assert (await bot.channel.pop()).text == "Hello."
        assert results(bot)[0][0].startswith("not answered yet (#1)")
        await bot.channel.push("/answer 1 blue", sender=MEMBER)
        assert (await bot.channel.pop()).text == "Answered: Which colour?"
        assert (await bot.channel.pop()).text == "Blue, then."
        assert last_text(model.requests[-1]) == "(answering: Which colour?)\nblue"


async def test_a_yes_after_still_waits_answers_the_question() -> None:
    model = ScriptedProvider(QUESTION, "I asked.", "Hello.", "Then yes.")
    async with gateway(model, tools=[ask_tool()]) as bot:
        await bot.channel.push("paint it", sender=MEMBER)
        await bot.channel.pop()
        await bot.channel.push("hello")
        for _ in range(3):
            await bot.channel.pop()
        await bot.channel.push("yes")  # not of whom it was asked
        assert (await bot.channel.pop()).text == "Then yes."
        await bot.channel.push("yes", sender=MEMBER)
        assert (await bot.channel.pop()).text == "Answered: Which colour?"


async def test_an_answer_with_files_is_seen_as_a_message() -> None:
    model = ScriptedProvider(QUESTION, "Like this one.")
    photo = (Attachment(kind="image", error="it is too large"),)
    async with gateway(model, tools=[ask_tool()]) as bot:
        await bot.channel.push("paint it")
        await bot.channel.pop()
        await bot.channel.push("like this", attachments=photo)
        assert (await bot.channel.pop()).text == "#1 still waits: /answer 1 TEXT."
        assert (await bot.channel.pop()).text.startswith("Like this one.")
        assert "like this" in last_text(model.requests[-1])


async def test_an_unanswered_question_ends_after_its_time() -> None:
    model = ScriptedProvider(QUESTION, "I choose red.")
    async with MemoryHome() as home:
        async with gateway(model, tools=[ask_tool()], home=home) as bot:
            await bot.channel.push("paint it")
            await bot.channel.pop()
        home.clock.advance(86_400)  # type: ignore[attr-defined]
        async with gateway(model, tools=[ask_tool()], home=home) as bot:
            bot.bus.wake("fake:1", RunKind.CHAT)
            assert (await bot.channel.pop()).text == "I choose red."
            assert results(bot) == [("nobody answered within 24 h", False)]


async def test_an_answer_survives_a_restart() -> None:
    model = ScriptedProvider(QUESTION, "Green it is.")
    async with MemoryHome() as home:
        async with gateway(model, tools=[ask_tool()], home=home) as bot:
            await bot.channel.push("paint it")
            await bot.channel.pop()
        async with gateway(model, tools=[ask_tool()], home=home) as bot:
            await bot.channel.push("green", key="later")
            assert (await bot.channel.pop()).text == "Green it is."


@pytest.mark.parametrize("origin", [Origin.CRON, Origin.WEBHOOK])
async def test_where_no_person_asked_there_is_nobody_to_ask(origin: Origin) -> None:
    async with gateway(ScriptedProvider(QUESTION, "I choose."), tools=[ask_tool()]) as bot:
        await bot.channel.push("paint it", origin=origin)
        assert (await bot.channel.pop()).text == "I choose."
        assert re.match("not executed: .* nobody can be asked here", results(bot)[0][0])
