"""What leaves the window is summed up; nothing is deleted, and it can be undone."""

from __future__ import annotations

from nanobot.agent.settings import RunSettings
from nanobot.errors import ModelUnreachable
from nanobot.providers.base import ChatMessage, ModelProfile, ModelRequest
from nanobot.session.entries import SummaryEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import ScriptedProvider
from tests.agent.tooling import bodies

SHORT = Options(settings=RunSettings(max_history=4))
SUMMARY = "They agreed on Tuesday."


def is_summing(request: ModelRequest) -> bool:
    return str(request.messages[0].content).startswith("You keep the memory of a conversation")


def model(summary: str | Exception = SUMMARY, **profile: object) -> ScriptedProvider:
    """Answers "ok", and `summary` when asked for one."""
    made = ModelProfile(name="scripted", provider="test", **profile)  # type: ignore[arg-type]
    return ScriptedProvider(
        otherwise=lambda request: summary if is_summing(request) else "ok", model=made
    )


async def say(bot: FakeGateway, *texts: str) -> None:
    for text in texts:
        await bot.channel.push(text)
        await bot.channel.pop()
    await bot.settle()


def shown(message: ChatMessage) -> str:
    return str(message.content).rpartition("\n")[2]


async def test_what_leaves_the_window_is_summed_up_once_and_shown_in_its_place() -> None:
    asked = model()
    async with gateway(asked, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        (summing,) = [one for one in asked.requests if is_summing(one)]
        assert "one" in str(summing.messages[1].content)
        last = asked.requests[-1]
        assert f"summary of what was said before, by the gateway: {SUMMARY}" in str(
            last.messages[1].content
        )
        assert not any(shown(message) == "one" for message in last.messages[2:])
        assert shown(last.messages[-1]) == "four"
        (entry,) = bodies(bot, SummaryEntry)
        assert entry.text == SUMMARY
        await say(bot, "five")
        assert len([one for one in asked.requests if is_summing(one)]) == 1


async def test_the_next_summary_holds_what_the_one_before_said() -> None:
    asked = model()
    async with gateway(asked, options=SHORT) as bot:
        await say(bot, *(f"message {number}" for number in range(12)))
        summing = [one for one in asked.requests if is_summing(one)]
        assert len(summing) > 1
        assert all(SUMMARY in str(one.messages[1].content) for one in summing[1:])
        made = bodies(bot, SummaryEntry)
        assert [one.covers_from for one in made] == [1] * len(made)
        assert len({one.upto for one in made}) == len(made)


async def test_a_summary_that_fails_costs_the_summary_and_not_the_answer() -> None:
    asked = model(ModelUnreachable("no"))
    async with gateway(asked, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        assert not bodies(bot, SummaryEntry)
        assert shown(asked.requests[-1].messages[-1]) == "four"
        assert bot.channel.sent[-1].text == "ok"


async def test_a_model_too_small_for_it_is_not_asked() -> None:
    asked = model(helper_calls=False)
    async with gateway(asked, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        assert not any(is_summing(one) for one in asked.requests)


async def test_compact_sums_up_at_once_and_undo_shows_everything_again() -> None:
    asked = model()
    async with gateway(asked) as bot:
        await say(bot, "one", "two")
        await bot.channel.push("/compact")
        assert SUMMARY in (await bot.channel.pop()).text
        await say(bot, "three")
        texts = [str(message.content) for message in asked.requests[-1].messages[1:]]
        assert len(texts) == 2
        assert SUMMARY in texts[0]
        await bot.channel.push("/compact undo")
        assert "everything again" in (await bot.channel.pop()).text
        await say(bot, "four")
        spoken = [shown(m) for m in asked.requests[-1].messages[1:] if m.role == "user"]
        assert spoken == ["one", "two", "three", "four"]


async def test_there_may_be_nothing_to_sum_up_or_to_take_back() -> None:
    async with gateway(model()) as bot:
        await bot.channel.push("/compact")
        assert "nothing to sum up" in (await bot.channel.pop()).text
        await bot.channel.push("/compact undo")
        assert "no summary" in (await bot.channel.pop()).text


async def test_the_tokens_of_a_summary_count_for_the_run() -> None:
    asked = model()
    async with gateway(asked, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        runs = await bot.records.runs(session="fake:1", state="", limit=10)
        usages = [run.usage.prompt_tokens for run in runs if run.usage is not None]
        (entry,) = bodies(bot, SummaryEntry)
        assert entry.usage is None or max(usages) >= entry.usage.prompt_tokens
