"""Fakes for tests, ours and yours: time, ids, a model, a chat platform, and a gateway over them.

    async with gateway(ScriptedProvider(asks_for("clock"), "It is noon."), tools=[clock]) as bot:
        await bot.channel.push("What time is it?")
        assert (await bot.channel.pop()).text == "It is noon."

Nothing here opens a socket, starts a process, writes a file or waits for real time.
"""

from nanobot.plugins.kit.gateway import FakeGateway, MemoryHome, Options, Process, gateway
from nanobot.plugins.kit.machine import CountingIds, ManualClock
from nanobot.plugins.kit.model import Answer, Held, ScriptedProvider, asks_for, last_text
from nanobot.plugins.kit.platform import MEMBER, OWNER, ArrivedMessage, FakeChannel, FakePlatform

__all__ = [
    "MEMBER",
    "OWNER",
    "Answer",
    "ArrivedMessage",
    "CountingIds",
    "FakeChannel",
    "FakeGateway",
    "FakePlatform",
    "Held",
    "ManualClock",
    "MemoryHome",
    "Options",
    "Process",
    "ScriptedProvider",
    "asks_for",
    "gateway",
    "last_text",
]
