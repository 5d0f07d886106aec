"""What a beat asks, where its answer goes, and when there is none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.errors import ConfigError, Refused
from nanobot.labels import Privacy, of
from nanobot.messages import Address, Origin, OutboundKind, OutboundMessage
from nanobot.plugins.heartbeat.heartbeat import FILE_LIMIT, NAME, to_do, trouble
from nanobot.plugins.heartbeat.service import rhythm_of
from nanobot.providers.base import ModelProfile
from nanobot.session.entries import PostEntry, UserEntry
from nanobot.session.labelling import label_of
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import Held, ScriptedProvider, last_text
from nanobot.testing.platform import MEMBER, OWNER, FakeChannel
from tests.agent.tooling import bodies
from tests.plugins.cron.scheduling import editor_of, gateway
from tests.plugins.heartbeat.beating import ASKED, at, beaten, configured, heart, wanted
from tests.stored import lists_of

NOON = at("2026-03-10T12:00")


def at_noon() -> MemoryHome:
    return MemoryHome(ManualClock(NOON))


async def hello(bot: FakeGateway, chat: str = "1", sender: str = OWNER) -> None:
    await bot.channel.push("hello", chat=chat, sender=sender)
    await bot.channel.pop(chat)


async def test_what_is_to_be_told_comes_into_the_owners_chat_and_its_history(
    tmp_path: Path,
) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        await hello(bot)
        wanted(tmp_path)
        bot.provider.script.append("The build is red.")
        assert await beaten(bot, heart(bot, tmp_path)) == ""
        sent = await bot.channel.pop()
        assert (sent.text, sent.address) == ("The build is red.", Address("fake", "1"))
        assert [post.text for post in bodies(bot, PostEntry)] == ["The build is red."]
        (entry,) = bodies(bot, UserEntry, NAME)
        assert (entry.origin, entry.role) == (Origin.HEARTBEAT, "owner")
        assert ASKED in entry.text
        assert "echo: hello" in entry.text
        await bot.channel.push("Do something about it")
        await bot.channel.pop()
        seen = [str(message.content) for message in bot.provider.requests[-1].messages]
        assert any("The build is red." in text for text in seen)


async def test_nothing_to_say_is_not_said_not_kept_in_the_chat_and_marks_nothing_unread(
    tmp_path: Path,
) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        await hello(bot)
        wanted(tmp_path)
        bot.provider.script.append("NOTHING_TO_SAY")
        assert await beaten(bot, heart(bot, tmp_path)) == ""
        assert bodies(bot, PostEntry) == []
        assert len(bot.channel.sent) == 1
        assert await lists_of(bot.records).newest(limit=9, unread=True) == []
        (job,) = await editor_of(bot).history("heartbeat", 9)
        assert (job.name, job.status) == (NAME, "done")


async def test_what_a_beat_is_told_of_the_chat_is_what_the_chat_has_heard(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        await hello(bot)
        wanted(tmp_path)
        beats = heart(bot, tmp_path)
        bot.provider.script.extend(["The build is red.", "NOTHING_TO_SAY"])
        for _ in range(3):
            await beaten(bot, beats)
        last = bodies(bot, UserEntry, NAME)[-1].text
        lately = last.partition("What you said there lately")[2].partition("What you answer")[0]
        assert lately.count("The build is red.") == 1
        assert "NOTHING_TO_SAY" not in lately


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Heading\n\n## Another\n",
        "<!-- - Look at it. -->\n# Nothing\n---\n",
        "<!-- never closed\n- Look",
        "-\n- [ ]\n* \n",
        "\ufeff",
    ],
)
async def test_a_file_that_asks_for_nothing_costs_nothing(tmp_path: Path, text: str) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        await hello(bot)
        wanted(tmp_path, text)
        assert "asks for nothing" in await beaten(bot, heart(bot, tmp_path))
        (tmp_path / "HEARTBEAT.md").unlink()
        assert "asks for nothing" in await beaten(bot, heart(bot, tmp_path))
        assert len(bot.provider.requests) == 1


async def test_only_chats_of_owners_that_nobody_else_reads_are_found(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        wanted(tmp_path)
        beats = heart(bot, tmp_path)
        await hello(bot, "7", MEMBER)
        await bot.channel.push("hello", chat="-5", group=True, addressed=True)
        await bot.channel.pop("-5")
        assert "no owner has written" in await beaten(bot, beats)
        await hello(bot, "1")
        await bot.channel.push("again", chat="-5", group=True, addressed=True)
        await bot.channel.pop("-5")
        assert await beaten(bot, beats) == ""
        assert (await bot.channel.pop()).address.chat_id == "1"


async def test_a_chat_that_is_named_is_the_one(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        wanted(tmp_path)
        await hello(bot)
        assert await beaten(bot, heart(bot, tmp_path, to="fake:22")) == ""
        assert (await bot.channel.pop()).address.chat_id == "22"


async def test_while_somebody_speaks_or_a_run_is_at_work_there_is_no_beat(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        wanted(tmp_path)
        beats = heart(bot, tmp_path, active_seconds=600)
        await hello(bot)
        assert "busy" in await beaten(bot, beats, 599)
        assert await beaten(bot, beats, 1) == ""
        await bot.channel.pop()
        held = Held()
        bot.provider.script.append(held)
        await bot.channel.push("take your time")
        await held.reached.wait()
        assert "busy" in await beaten(bot, beats, 4_000)
        held.answer("done")
        await bot.channel.pop()
        assert "busy" in await beaten(bot, beats, 599)
        assert await beaten(bot, beats, 2) == ""


async def test_a_beat_that_still_works_is_not_followed_by_another(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        wanted(tmp_path)
        beats = heart(bot, tmp_path)
        await hello(bot)
        held = Held()
        bot.provider.script.append(held)
        assert await beaten(bot, beats) == ""
        assert "busy" in await beaten(bot, beats)
        held.answer("late")
        await bot.settle()
        await bot.cron.fire()
        assert (await bot.channel.pop()).text == "late"
        assert await beaten(bot, beats) == ""
        assert len(await editor_of(bot).history("heartbeat", 9)) == 2


async def test_in_quiet_hours_there_is_no_beat(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        wanted(tmp_path)
        await hello(bot)
        zone = "Asia/Tokyo"
        beats = heart(bot, tmp_path, quiet_from="22:00", quiet_until="08:00", zone=zone)
        assert await beaten(bot, beats, at("2026-03-10T21:30", zone) - NOON) == ""
        assert "quiet" in await beaten(bot, beats, 1_800)
        assert "quiet" in await beaten(bot, beats, 36_000 - 1)
        assert await beaten(bot, beats, 1) == ""


async def test_a_model_that_is_too_small_is_spared_and_so_is_whoever_has_none(
    tmp_path: Path,
) -> None:
    small = ModelProfile(name="tiny", provider="test", helper_calls=False)
    async with at_noon() as home, gateway(ScriptedProvider(model=small), home=home) as bot:
        wanted(tmp_path)
        await hello(bot)
        assert "no model" in await beaten(bot, heart(bot, tmp_path))
        assert "no model" in await beaten(bot, heart(bot, tmp_path, model="else/where"))
        assert len(bot.provider.requests) == 1


@pytest.mark.process
async def test_prompts_do_not_grow_from_the_12th_beat_to_the_60th(tmp_path: Path) -> None:
    provider = ScriptedProvider(otherwise=lambda _: f"news {len(provider.requests)} " + "x" * 2_000)
    async with at_noon() as home, gateway(provider, home=home) as bot:
        wanted(tmp_path)
        beats = heart(bot, tmp_path, to="fake:1")
        for _ in range(12):
            await beaten(bot, beats)
        size = len(str(provider.requests[-1]))
        for _ in range(48):
            await beaten(bot, beats)
        assert len(provider.requests) == 60
        assert len(str(provider.requests[-1])) <= size + 100
        assert last_text(provider.requests[-1]).count("news") == 8


async def test_words_from_outside_make_the_beat_that_sees_them_tainted(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        wanted(tmp_path)
        beats = heart(bot, tmp_path)
        await hello(bot)
        await beaten(bot, beats)
        post = OutboundMessage(
            address=Address("fake", "1"),
            text="Somebody wrote.",
            key="outside",
            kind=OutboundKind.POST,
            tainted=True,
        )
        await bot.journal.post("fake:1", post)
        await beaten(bot, beats)
        secret = {"key": "secret", "tainted": False, "label": of(privacy=Privacy.SECRET).encoded()}
        await bot.journal.post("fake:1", msgspec.structs.replace(post, **secret))
        await beaten(bot, beats)
        labels = [label_of(body) for body in bodies(bot, UserEntry, NAME)]
        assert [label.tainted for label in labels] == [False, True, True]
        assert [label.privacy is Privacy.SECRET for label in labels] == [False, False, True]


async def test_a_chat_that_is_gone_is_left_alone_until_somebody_speaks_or_a_day_is_over(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    async with at_noon() as home, gateway(channel=channel, home=home) as bot:
        wanted(tmp_path)
        await hello(bot)
        beats = heart(bot, tmp_path)
        channel.fail(Refused("the chat is gone"), Refused("the chat is gone"))
        assert await beaten(bot, beats) == ""
        assert "cannot be reached (the chat is gone)" in await beaten(bot, beats)
        assert len(bot.provider.requests) == 2
        assert await beaten(bot, beats, 86_400) == ""


async def test_a_job_without_a_word_does_not_make_a_chat_that_is_gone_look_reached(
    tmp_path: Path,
) -> None:
    channel = FakeChannel()
    async with at_noon() as home, gateway(channel=channel, home=home) as bot:
        wanted(tmp_path)
        await hello(bot)
        await bot.channel.push("/cron add +29m Look")
        await bot.channel.pop()
        beats = heart(bot, tmp_path)
        channel.fail(Refused("the chat is gone"), Refused("the chat is gone"))
        bot.provider.script.extend(["News.", "NOTHING_TO_SAY"])
        assert await beaten(bot, beats, 600) == ""
        for _ in range(2):  # the job is done after the first of them
            assert "cannot be reached (the chat is gone)" in await beaten(bot, beats, 1_200)
        assert len(bot.provider.requests) == 3


async def test_a_huge_file_is_cut_one_that_is_no_text_is_read_as_far_as_it_is(
    tmp_path: Path,
) -> None:
    file = tmp_path / "HEARTBEAT.md"
    file.write_text("- Look. \u00e4" * 1_000_000, "utf-8")
    assert len(to_do(tmp_path)) < FILE_LIMIT + 100
    assert trouble(tmp_path) == ""
    file.write_bytes(b"- Look \xff\xfe at it\n\0")
    assert "Look" in to_do(tmp_path)
    assert "not UTF-8" in trouble(tmp_path)
    file.unlink()
    assert (to_do(tmp_path), trouble(tmp_path)) == ("", "")
    file.mkdir()
    assert to_do(tmp_path) == ""
    assert "is not a file" in trouble(tmp_path)


async def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").mkdir()
    async with at_noon() as home, gateway(home=home) as bot:
        assert "is not a file" in await beaten(bot, heart(bot, tmp_path))


@pytest.mark.parametrize("to", ["telegram:1", "fake", "fake:", ":1", "x" * 5_000])
def test_a_chat_of_no_channel_is_refused_with_those_there_are(tmp_path: Path, to: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rhythm_of(configured(tmp_path, to=to), "UTC")
    assert "heartbeat.to" in str(caught.value)
    assert "fake:..." in str(caught.value)
    assert len(str(caught.value)) < 400


# Greetings

DAY = 86_400.0


async def test_somebody_silent_is_greeted_once_until_they_speak(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        beats = heart(bot, tmp_path, greet_after_seconds=3_600)
        await hello(bot)
        assert "no one is to be greeted" in await beaten(bot, beats)
        bot.provider.script.append("Good afternoon!")
        assert await beaten(bot, beats) == ""
        assert (await bot.channel.pop()).text == "Good afternoon!"
        for _ in range(5):
            assert "no one is to be greeted" in await beaten(bot, beats, DAY)


@pytest.mark.process
async def test_nobody_is_greeted_twice_on_a_day(tmp_path: Path) -> None:
    async with MemoryHome(ManualClock(at("2026-03-10T08:00"))) as home, gateway(home=home) as bot:
        beats = heart(bot, tmp_path, greet_after_seconds=3_600)
        greeted = []
        for hour in range(8, 56):
            if hour % 3 == 0:
                await hello(bot)
            if not await beaten(bot, beats, 3_600):
                greeted.append((hour + 1) // 24)
                await bot.channel.pop()
        assert greeted == [0, 1, 2]


async def test_who_was_silent_for_months_is_left_in_peace(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        beats = heart(bot, tmp_path, greet_after_seconds=3_600)
        await hello(bot)
        assert "no one is to be greeted" in await beaten(bot, beats, 61 * DAY)


async def test_a_greeting_is_for_the_waking_hours_and_a_beat_follows_it(tmp_path: Path) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        wanted(tmp_path)
        beats = heart(
            bot, tmp_path, greet_after_seconds=6 * 3_600, quiet_from="18:00", quiet_until="08:00"
        )
        await hello(bot)
        assert "quiet" in await beaten(bot, beats, 7 * 3_600)
        for words in ("last heard 20 hours ago", ASKED):
            assert await beaten(bot, beats, 13 * 3_600 if "heard" in words else 1_800) == ""
            assert words in last_text(bot.provider.requests[-1])
