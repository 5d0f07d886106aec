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
from tests.stored import runs_of

SHORT = Options(settings=RunSettings(max_history=4))
SUMMARY = "They agreed on Tuesday."


def is_summing(request: ModelRequest) -> bool:
    return str(request.messages[0].content).startswith("You keep the memory of a conversation")


def model(summary: str | Exception = SUMMARY, **profile: object) -> ScriptedProvider:
    """Answers "ok", and `summary` when asked for one."""
    scripted = ModelProfile(name="scripted", provider="test", **profile)  # type: ignore[arg-type]
    return ScriptedProvider(
        otherwise=lambda request: summary if is_summing(request) else "ok", model=scripted
    )


async def say(bot: FakeGateway, *texts: str) -> None:
    for text in texts:
        await bot.channel.push(text)
        await bot.channel.pop()
    await bot.settle()


def shown(message: ChatMessage) -> str:
    return str(message.content).rpartition("\n")[2]


async def test_what_leaves_the_window_is_summed_up_once_and_shown_in_its_place() -> None:
    provider = model()
    async with gateway(provider, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        (summing,) = [request for request in provider.requests if is_summing(request)]
        assert "one" in str(summing.messages[1].content)
        last = provider.requests[-1]
        assert f"summary of what was said before, by the gateway: {SUMMARY}" in str(
            last.messages[1].content
        )
        assert not any(shown(message) == "one" for message in last.messages[2:])
        assert shown(last.messages[-1]) == "four"
        (entry,) = bodies(bot, SummaryEntry)
        assert entry.text == SUMMARY
        await say(bot, "five")
        assert len([request for request in provider.requests if is_summing(request)]) == 1


async def test_the_next_summary_holds_what_the_one_before_said() -> None:
    provider = model()
    async with gateway(provider, options=SHORT) as bot:
        await say(bot, *(f"message {number}" for number in range(12)))
        summing = [request for request in provider.requests if is_summing(request)]
        assert len(summing) > 1
        assert all(SUMMARY in str(request.messages[1].content) for request in summing[1:])
        summaries = bodies(bot, SummaryEntry)
        assert [entry.covers_from for entry in summaries] == [1] * len(summaries)
        assert len({entry.upto for entry in summaries}) == len(summaries)


async def test_a_summary_that_fails_costs_the_summary_and_not_the_answer() -> None:
    provider = model(ModelUnreachable("no"))
    async with gateway(provider, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        assert not bodies(bot, SummaryEntry)
        assert shown(provider.requests[-1].messages[-1]) == "four"
        assert bot.channel.sent[-1].text == "ok"


async def test_a_model_too_small_for_it_is_not_asked() -> None:
    provider = model(helper_calls=False)
    async with gateway(provider, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        assert not any(is_summing(request) for request in provider.requests)


async def test_compact_sums_up_at_once_and_undo_shows_everything_again() -> None:
    provider = model()
    async with gateway(provider) as bot:
        await say(bot, "one", "two")
        await bot.channel.push("/compact")
        assert SUMMARY in (await bot.channel.pop()).text
        await say(bot, "three")
        texts = [str(message.content) for message in provider.requests[-1].messages[1:]]
        assert len(texts) == 2
        assert SUMMARY in texts[0]
        await bot.channel.push("/compact undo")
        assert "everything again" in (await bot.channel.pop()).text
        await say(bot, "four")
        spoken = [shown(m) for m in provider.requests[-1].messages[1:] if m.role == "user"]
        assert spoken == ["one", "two", "three", "four"]


async def test_there_may_be_nothing_to_sum_up_or_to_take_back() -> None:
    async with gateway(model()) as bot:
        await bot.channel.push("/compact")
        assert "nothing to sum up" in (await bot.channel.pop()).text
        await bot.channel.push("/compact undo")
        assert "no summary" in (await bot.channel.pop()).text


async def test_the_tokens_of_a_summary_count_for_the_run() -> None:
    provider = model()
    async with gateway(provider, options=SHORT) as bot:
        await say(bot, "one", "two", "three", "four")
        runs = await runs_of(bot.records).listed(session="fake:1", state="", limit=10)
        usages = [run.usage.prompt_tokens for run in runs if run.usage is not None]
        (entry,) = bodies(bot, SummaryEntry)
        assert entry.usage is None or max(usages) >= entry.usage.prompt_tokens
