"""The preview of an answer that a check holds back becomes the next answer: one message."""

from __future__ import annotations

import msgspec

from nanobot.agent.active_run import ActiveRun
from nanobot.session.entries import ObjectionEntry, ReplyEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from nanobot.testing.platform import FakePlatform
from tests.channels.seeing import clock_of, seen, standing, states


async def objecting(active: ActiveRun) -> ObjectionEntry | None:
    answer = active.entries[-1].body
    if isinstance(answer, ReplyEntry) and "sent" in answer.text:
        return ObjectionEntry(call=answer.call, text="you did not", by="a test")
    return None


async def pass_seconds(bot: FakeGateway, seconds: float) -> None:
    for _ in range(int(seconds * 2)):
        clock_of(bot).advance(0.5)
        await bot.settle()


async def test_the_message_that_shows_the_first_answer_is_edited_into_the_second() -> None:
    first, second, platform = Held("I sent it"), Held("I have not"), FakePlatform()
    model = ScriptedProvider(first, second)
    options = Options(check=objecting)
    async with (
        standing() as home,
        gateway(model, platform, home=home, options=options) as bot,
    ):
        await bot.channel.push("send it")
        await first.reached.wait()
        await pass_seconds(bot, 2)
        assert seen(bot) == ["I sent it ▌"]
        first.answer("I sent it, yes")
        await second.reached.wait()
        await pass_seconds(bot, 4)
        assert seen(bot) == ["I have not ▌"]
        second.answer("I have not sent anything")
        await bot.settle()
        assert seen(bot) == ["I have not sent anything"]
        assert len(platform.attempts) == 1
        assert states(bot) == ["sent"]


async def test_a_question_after_it_leaves_no_such_answer_as_a_message_of_its_own() -> None:
    first, second, platform = Held("I sent it"), Held(), FakePlatform()
    model = ScriptedProvider(first, second, "so be it")
    options = msgspec.structs.replace(Options(check=objecting), receipts=False)
    async with (
        standing() as home,
        gateway(model, platform, home=home, options=options) as bot,
    ):
        await bot.channel.push("send it")
        await first.reached.wait()
        await pass_seconds(bot, 2)
        first.answer("I sent it, yes")
        await second.reached.wait()
        second.answer(asks_for("none", "let me look"))
        await bot.settle()
        assert seen(bot) == ["so be it"]
