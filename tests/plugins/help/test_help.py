"""What /help says fits a telephone: at most 15 lines, for everybody, about everything."""

from __future__ import annotations

import pytest

from nanobot.messages import Role
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.rendering import Now
from nanobot.plugins.cron.operations import operations as of_jobs
from nanobot.plugins.erasure.operations import operations as of_erasure
from nanobot.plugins.help import operations as page
from tests.plugins.cron.scheduling import gateway

COMMANDS = [each for each in (*OPERATIONS, *of_jobs(), *of_erasure()) if each.listed]
NAMES = [each.name for each in COMMANDS]
TOPICS = sorted({"", "more", *NAMES, *(name.split()[0] for name in NAMES)})

NOW = Now(0.0, "UTC")


async def test_each_help_in_a_chat_has_at_most_fifteen_lines() -> None:
    async with gateway() as bot:
        for topic in TOPICS:
            await bot.channel.push(f"/help {topic}".strip())
            text = (await bot.channel.pop("1")).text
            assert len(text.splitlines()) <= 15, text
            assert len(text) < 4_000, text


@pytest.mark.parametrize("role", list(Role))
def test_every_command_is_found_from_help_by_whoever_may_use_it(role: Role) -> None:
    theirs = [page._of(each) for each in COMMANDS if each.may(role)]
    more = page._more(theirs, NOW)
    assert len(more.splitlines()) <= 15
    for family, commands in page._families(theirs).items():
        assert f"`{family}`" in more
        shown = page._text(commands, NOW)
        assert all(command.usage in shown for command in commands)
    assert "Others" not in page._more([page._of(each) for each in COMMANDS], NOW), "give it a topic"


@pytest.mark.parametrize("count", range(60))
def test_lines_are_packed_into_those_there_are_room_for(count: int) -> None:
    packed = page._fitting([f"- {n}" for n in range(count)], 12)
    assert len(packed) <= 12
    assert ";".join(packed).replace("- ", "").replace(" ", "") == ";".join(map(str, range(count)))


def test_no_argument_of_a_command_is_left_out() -> None:
    for command in map(page._of, COMMANDS):
        text = page._single(command)
        assert all(f"`{name}`" in text for name in command.arguments)


async def test_in_a_group_help_is_as_short_and_leads_on() -> None:
    async with gateway() as bot:
        await bot.channel.push("/help", group=True)
        text = (await bot.channel.pop("1")).text
        assert len(text.splitlines()) <= 15
        assert "`/help more` lists all of them" in text
