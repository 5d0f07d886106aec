"""One event that cannot be read costs itself alone: the next message is heard, over the same
connection. Each value of each kind of event is exchanged for odd ones, at the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from nanobot.testing.machine import ManualClock
from nanobot_channels.telegram import TelegramChannel
from tests.channels import damaging, discording, matrixing, test_mattermost, test_whatsapp
from tests.channels.damaging import INNER, damaged, mattermost_frames, whatsapp_bodies
from tests.doubles.discord_server import DM, DiscordServer
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_rooms import ANN as MATRIX_ANN
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.mattermost_server import MattermostServer
from tests.doubles.slack_bench import bench
from tests.doubles.telegram_server import TelegramServer
from tests.doubles.webhooks import door
from tests.doubles.whatsapp_server import ANN as PERSON
from tests.doubles.whatsapp_server import START, WhatsAppServer

Try: TypeAlias = Callable[[int], Coroutine[Any, Any, None]]
LAST = "still here"


async def heard(intake: FakeIntake) -> None:
    await intake.until(lambda: any(message.text == LAST for message in intake.messages))


async def telegram(every: int) -> None:
    async with TelegramServer() as server:
        channel = TelegramChannel("telegram", server.token, server.root_url, clock=ManualClock())
        async with discording.receiving(channel) as intake:
            for event in damaging.TELEGRAM:
                for odd in damaged(event, every):
                    server.push(**odd)
            server.say(1, LAST)
            await heard(intake)
        await channel.close()


async def slack(every: int) -> None:
    async with bench(slash_command="/nanobot") as b, b.running():
        for kind, event in damaging.SLACK:
            for odd in damaged(event, every):
                b.slack.push(kind, odd)
        b.slack.say("D1", LAST)
        await heard(b.intake)
        await b.slack.settled()
        assert b.slack.opened == 1


async def discord(every: int) -> None:
    async with (
        DiscordServer() as server,
        discording.opened(server) as channel,
        discording.receiving(channel) as intake,
    ):
        for event, data in damaging.DISCORD:
            for odd in damaged(data, every):
                await server.dispatch(event, odd)
        await server.say(DM, LAST)
        await heard(intake)
        assert len(server.identified) == 1


async def matrix(every: int) -> None:
    async with MatrixServer() as server:
        matrixing.group(server)
        intake = FakeIntake()
        async with matrixing.receiving(matrixing.channel(server), intake):
            for kind, content in damaging.MATRIX:
                for odd in damaged(content, every):
                    event = server.rooms.add(matrixing.GROUP, kind, {}, sender=MATRIX_ANN)
                    event["content"] = odd
            server.say(server.dm, LAST)
            await heard(intake)


async def mattermost(every: int) -> None:
    async with MattermostServer() as server:
        b = test_mattermost.Bench(server)
        async with (
            door(b.channel, lambda: b.intake),
            discording.receiving(b.channel, b.intake),
        ):
            for frame in mattermost_frames(server):
                for odd in damaged(frame, every):
                    await server.raw(json.dumps(odd))
                    if isinstance(odd.get("data"), dict):  # what it tells is JSON within JSON
                        inner = {k: json.dumps(v) for k, v in odd["data"].items() if k in INNER}
                        await server.raw(json.dumps(odd | {"data": odd["data"] | inner}))
            await server.say(server.dm, LAST)
            await heard(b.intake)
            assert server.connections == 1
        await b.channel.close()


async def whatsapp(every: int) -> None:
    async with WhatsAppServer() as meta:
        b = test_whatsapp.Bench(meta, ManualClock(START, instant=False))
        async with (
            door(b.channel, lambda: b.intake) as url,
            discording.receiving(b.channel, b.intake),
        ):
            meta.deliveries.url = url
            for body in whatsapp_bodies(meta):
                for odd in damaged(body, every):
                    delivery = await meta.push_raw(odd)
                    assert delivery.acknowledged, f"{delivery.status} to {odd}"
            await meta.say(PERSON, LAST)
            await heard(b.intake)
        await b.channel.close()


PLATFORMS = (telegram, slack, discord, matrix, mattermost, whatsapp)


@pytest.mark.parametrize("damage", PLATFORMS, ids=lambda damage: damage.__name__)
async def test_a_damaged_event_stops_nothing(damage: Try) -> None:
    """A part of them, which has each value and each odd one; all are in the slow test."""
    await damage(7)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("damage", PLATFORMS, ids=lambda damage: damage.__name__)
async def test_no_damaged_event_stops_anything(damage: Try) -> None:
    await damage(1)
