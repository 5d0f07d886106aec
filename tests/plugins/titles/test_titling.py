"""Titling: the model names a conversation once, after its first answer, on the run's account."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from nanobot.errors import ModelUnreachable
from nanobot.messages import Origin
from nanobot.plugins.budgets.settings import BudgetSettings
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.common.store import usage_tables
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.titles.store import SqlTitles
from nanobot.plugins.titles.titling import Titling, title_in
from nanobot.providers.base import ModelProfile, ModelRequest
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import ScriptedProvider
from tests.agent.tooling import answered
from tests.plugins.budgets.ledgers import COUNTED, ledger
from tests.plugins.conversations.reading import listing
from tests.stored import lists_of

KEY = "fake:1"


def is_titling(request: ModelRequest) -> bool:
    return "Give it a title" in str(request.messages[0].content)


def model(title: Any = "Trains to Rome", **profile: Any) -> ScriptedProvider:
    return ScriptedProvider(
        otherwise=lambda request: title if is_titling(request) else "At the end of the road.",
        model=ModelProfile(name="scripted", provider="test", **profile),
    )


def asked(provider: ScriptedProvider) -> list[str]:
    return [str(each.messages[1].content) for each in provider.requests if is_titling(each)]


def titling(bot: FakeGateway) -> Titling:
    titles = SqlTitles(bot.process, bot.process.writer)
    return Titling(titles, AuxiliaryModels(bot.provider))


async def say(bot: FakeGateway, *texts: str, **fields: Any) -> None:
    for text in texts:
        await bot.channel.push(text, **fields)
        await answered(bot)


async def title(bot: FakeGateway) -> str:
    row = await lists_of(bot.records).one(KEY)
    assert row is not None
    return row.title


async def test_a_conversation_is_named_once_by_its_first_message_and_answer() -> None:
    provider = model()
    async with gateway(provider) as bot:
        service = titling(bot)
        await service.give(KEY)  # nothing was said there yet
        assert asked(provider) == []
        await say(bot, "Where is the station? I want to see Rome.")
        await service.give(KEY)
        assert await title(bot) == "Trains to Rome"
        await say(bot, "And then?")
        await service.give(KEY)
        await titling(bot).give(KEY)  # after a restart
        (prompt,) = asked(provider)
        assert "Where is the station?" in prompt
        assert "At the end of the road." in prompt
        assert "And then?" not in prompt


async def test_the_call_counts_as_usage_of_the_run() -> None:
    async with gateway(model(), options=Options(ledger=COUNTED)) as bot:
        await say(bot, "Hi")
        calls = sa.select(sa.func.count()).select_from(usage_tables.model_call_costs)
        before = bot.home.do(lambda c: c.scalar(calls))
        await titling(bot).give(KEY)
        assert bot.home.do(lambda c: c.scalar(calls)) == (before or 0) + 1
        states = bot.home.do(
            lambda c: set(c.scalars(sa.select(usage_tables.model_call_costs.c.state)))
        )
        assert "open" not in states


async def test_a_person_s_title_is_kept() -> None:
    provider = model()
    async with gateway(provider) as bot:
        await say(bot, "Hi")
        await listing(bot).rename(KEY, "Mine")
        await titling(bot).give(KEY)
        assert await title(bot) == "Mine"
        assert asked(provider) == []


async def test_a_title_that_a_person_gives_meanwhile_is_kept() -> None:
    async with gateway(model()) as bot:
        await say(bot, "Hi")
        titles = SqlTitles(bot.process, bot.process.writer)
        untitled = await titles.untitled(KEY)
        assert untitled is not None
        await listing(bot).rename(KEY, "Mine")
        await titles.keep(untitled, "Its own", _NothingToSettle())
        assert await title(bot) == "Mine"


@pytest.mark.parametrize("seq", [1, 4], ids=["message", "answer"])
async def test_a_title_goes_with_the_words_that_it_was_made_of(seq: int) -> None:
    async with gateway(model()) as bot:
        await say(bot, "My code is 4711.", "And more.")
        await titling(bot).give(KEY)
        assert await title(bot) == "Trains to Rome"
        await SqlEraser(bot.process, bot.process.writer).erase(KEY, seq, "me")
        assert await title(bot) == ""


async def test_what_was_erased_while_the_model_wrote_is_in_no_title() -> None:
    async with gateway(model()) as bot:
        await say(bot, "My code is 4711.")
        titles = SqlTitles(bot.process, bot.process.writer)
        untitled = await titles.untitled(KEY)
        assert untitled is not None
        await SqlEraser(bot.process, bot.process.writer).erase(KEY, 1, "me")
        await titles.keep(untitled, "Code 4711", _NothingToSettle())
        assert await title(bot) == ""


async def test_small_models_are_not_asked() -> None:
    provider = model(helper_calls=False)
    async with gateway(provider) as bot:
        await say(bot, "Where is it? Quick.")
        await titling(bot).give(KEY)
        assert asked(provider) == []
        assert await title(bot) == "Where is it?"


@pytest.mark.parametrize("answer", [ModelUnreachable("down"), "", "\n\n", '"."'])
async def test_a_model_that_gives_no_title_is_not_asked_again(answer: Any) -> None:
    provider = model(answer)
    async with gateway(provider, options=Options(ledger=COUNTED)) as bot:
        service = titling(bot)
        await say(bot, "Where is it? Quick.")
        await service.give(KEY)
        await service.give(KEY)
        assert len(asked(provider)) == 1
        assert await title(bot) == "Where is it?"
        open_calls = sa.select(usage_tables.model_call_costs.c.id).where(usage_tables.CALL_OPEN)
        assert bot.home.do(lambda c: c.scalars(open_calls).all()) == []


async def test_no_budget_is_passed_for_a_title() -> None:
    provider = model()
    kept = ledger(BudgetSettings(tokens_per_day=1_000_000))
    async with gateway(provider, options=Options(ledger=kept)) as bot:
        await say(bot, "Hi")
        spent = sa.update(usage_tables.usage_totals).values(tokens_in=1_000_000)
        bot.home.do(lambda c: c.execute(spent).close())
        await titling(bot).give(KEY)
        assert asked(provider) == []


@pytest.mark.parametrize("origin", [Origin.CRON, Origin.EVENT])
async def test_what_no_person_began_is_not_named(origin: Origin) -> None:
    provider = model()
    async with gateway(provider) as bot:
        await say(bot, "Look at the disk", origin=origin)
        await titling(bot).give(KEY)
        assert asked(provider) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('"Trains to Rome."', "Trains to Rome"),
        ("**Trains to Rome**\n\nBecause ...", "Trains to Rome"),
        ("Title: Trains to Rome", "Trains to Rome"),
        ("# 去罗马的火车。", "去罗马的火车"),
        ("word " * 40, "word word word word word word word word word word word word…"),
    ],
)
def test_a_title_is_the_first_line_without_decoration(answer: str, expected: str) -> None:
    assert title_in(answer) == expected


class _NothingToSettle:
    def write(self, connection: Any) -> None:
        """See StoreWrite."""

    def written(self) -> None:
        """See StoreWrite."""
