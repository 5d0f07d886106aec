"""Answers that are spoken too, by a whole gateway: once, paid once, and never in the text's way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial

import pytest

from tests.doubles.discord_rules import IS_VOICE_MESSAGE
from tests.doubles.discord_server import DM, DiscordServer
from tests.process.harness import PATIENCE, World
from tests.process.platforms import discord_beside
from tests.sampling import few

CHAT = 1
VOICE = """
[providers.test.models."tts"]
price = { prompt = 15.0, completion = 0.0 }
[voice]
model = "test/tts"
voice = "nova"
max_characters = 40
"""
ALWAYS = f'{VOICE}answers = "always"'


@pytest.fixture
async def discord(world: World) -> AsyncIterator[DiscordServer]:
    async with discord_beside(world, ALWAYS) as server:
        yield server


def voices(world: World, chat: int = CHAT) -> list[bytes]:
    return [
        message.file.content
        for message in world.telegram.messages(chat)
        if message.file is not None and message.file.kind == "voice"
    ]


async def spoken(world: World, count: int = 1) -> None:
    await world.telegram.until(lambda: len(voices(world)) >= count, PATIENCE)


def said(world: World, text: str) -> bool:
    return text in world.texts(CHAT)


async def nothing_owed(world: World) -> None:
    """Wait until nothing is to be spoken any more."""
    async with asyncio.timeout(PATIENCE):
        while world.rows("SELECT * FROM voice_answers"):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)


async def test_the_text_comes_first_and_its_sound_behind_it(world: World) -> None:
    world.configure(more=ALWAYS)
    gateway = await world.start()
    world.telegram.say(CHAT, "say:It is **noon**.")
    await spoken(world)
    assert [m.file is not None for m in world.telegram.messages(CHAT)] == [False, True]
    assert [speech["input"] for speech in world.model.speeches] == ["It is noon."]
    await world.rests(gateway)
    cost = "SELECT tokens_in, round(cost * 1e6), state FROM model_call_costs WHERE model = ?"
    assert world.rows(cost, "test/tts") == [(11, 165, "settled")]


async def test_only_what_was_said_to_it_is_answered_aloud(world: World) -> None:
    world.configure(agent='transcription_model = "test/whisper"', more=f'{VOICE}answers = "on"')
    await world.start()
    world.telegram.say(CHAT, "say:written")
    await world.said(CHAT, "written")
    voice = {"file_id": world.telegram.extras.put_file(b"hello"), "mime_type": "audio/ogg"}
    voice["file_unique_id"] = voice["file_id"]
    world.telegram.say(CHAT, voice=voice, caption="say:heard")
    await spoken(world)
    assert [speech["input"] for speech in world.model.speeches] == ["heard."]


async def test_too_long_an_answer_and_one_that_is_only_code_are_not_spoken(world: World) -> None:
    world.configure(more=ALWAYS)
    await world.start()
    world.telegram.say(CHAT, f"say:{'long ' * 20}")
    world.telegram.say(CHAT + 1, "say:`` ``")
    world.telegram.say(CHAT + 2, "say:short")
    await world.telegram.until(lambda: bool(voices(world, CHAT + 2)), PATIENCE)
    await nothing_owed(world)
    assert not voices(world) + voices(world, CHAT + 1)


async def test_a_failing_service_is_said_once_and_again_after_it_has_worked(world: World) -> None:
    world.configure(more=ALWAYS)
    world.model.mute = "no voices today"
    gateway = await world.start()
    for number in range(3):
        world.telegram.say(CHAT, f"say:answer {number}")
        answer = f"answer {number}"
        await world.telegram.until(partial(said, world, answer), PATIENCE)
        await nothing_owed(world)
    await world.telegram.until(lambda: len(world.texts(CHAT)) >= 4, PATIENCE)
    complaints = [text for text in world.texts(CHAT) if "no voices today" in text]
    assert len(complaints) == 1
    await gateway.stop()
    world.model.mute = ""
    await world.start()
    world.telegram.say(CHAT, "say:better")
    await spoken(world)
    world.model.mute = "gone again"
    world.telegram.say(CHAT, "say:worse")
    await world.telegram.until(lambda: any("gone again" in t for t in world.texts(CHAT)), PATIENCE)


@pytest.mark.parametrize(
    ("point", "requests"),
    few(
        [
            ("voice_take:after", 1),
            ("voice_made:before", 2),  # nobody knows that it was made
            ("finish:after", 1),
            ("voice_reserve:after", 1),
            ("voice_made:after", 1),
        ],
        2,
    ),
)
async def test_a_kill_loses_no_voice_and_pays_for_none_twice_that_was_kept(
    world: World, discord: DiscordServer, point: str, requests: int
) -> None:
    gateway = await world.launch(crash_at=point)
    await discord.until(lambda: bool(discord.sessions))
    discord.now = time.time()
    await discord.say(DM, "say:hello")
    await gateway.died()
    discord.sessions.clear()
    gateway = await world.start()
    await discord.until(lambda: len(discord.mine(DM)) == 2)
    assert discord.mine(DM)[1]["flags"] == IS_VOICE_MESSAGE
    await world.rests(gateway)
    assert [m["content"] for m in discord.mine(DM)] == ["hello", ""]
    assert len(world.model.speeches) == requests
    states = world.rows("SELECT DISTINCT state FROM model_call_costs WHERE model = ?", "test/tts")
    assert ("settled",) in states  # and what nobody heard the end of counts as it was reserved


@pytest.mark.parametrize("part", ["begin_send:2:after", "receipt:2:before"])
async def test_a_resend_after_a_kill_is_the_same_file(
    world: World, discord: DiscordServer, part: str
) -> None:
    gateway = await world.launch(crash_at=part)
    await discord.until(lambda: bool(discord.sessions))
    discord.now = time.time()
    await discord.say(DM, "say:hello")
    await gateway.died()
    discord.sessions.clear()
    await world.start()
    await discord.until(lambda: len(discord.mine(DM)) == 2)
    assert len(world.model.speeches) == 1
