"""The platform in memory gives no number twice, also after a restart of the gateway."""

from __future__ import annotations

from nanobot.testing import FakeChannel, MemoryHome, ScriptedProvider, gateway


async def test_what_is_said_after_a_restart_is_not_taken_for_what_was_said_before() -> None:
    keys = []
    async with MemoryHome() as home:
        for answer in ("one", "two", "three"):
            async with gateway(ScriptedProvider(answer), home=home) as bot:
                keys.append((await bot.channel.push(f"say {answer}")).dedupe_key)
                assert (await bot.channel.pop()).text == answer
    assert keys == ["u1", "u3", "u5"]


async def test_a_channel_that_has_numbers_keeps_them_and_two_homes_share_none() -> None:
    channel = FakeChannel()
    for answer in ("one", "two"):
        async with gateway(ScriptedProvider(answer), channel) as bot:
            await bot.channel.push("hi")
            await bot.channel.pop()
    assert [message.id for message in channel.sent] == ["m2", "m4"]
    async with gateway(ScriptedProvider("three")) as bot:
        assert (await bot.channel.push("hi")).dedupe_key == "u1"
