"""UDP: what a script sends and what it gets, through a gateway and without one."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nanobot.errors import ChannelDown, ConfigError, NotSent, Refused, StoreUnwritable
from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.udp import PIECE, UdpChannel, open_channel
from tests.doubles.fake_intake import FakeIntake

SETTINGS = {"token": "long enough", "port": 0}


class Script:
    """A program of this machine."""

    def __init__(self, channel: UdpChannel) -> None:
        self._channel = channel
        self._socket = socket.socket(type=socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.peer = "127.0.0.1:{1}".format(*self._socket.getsockname())

    def send(self, request: object) -> None:
        data = request if isinstance(request, bytes) else json.dumps(request).encode()
        self._socket.sendto(data, self._channel.listen().getsockname())

    def ask(self, text: str, number: str = "1", **more: str) -> None:
        self.send({"token": SETTINGS["token"], "id": number, "text": text} | more)

    async def answer(self) -> dict[str, Any]:
        async with asyncio.timeout(10):
            data = await asyncio.get_running_loop().sock_recv(self._socket, 1 << 16)
        packet: dict[str, Any] = json.loads(data)
        return packet

    def close(self) -> None:
        self._socket.close()


@asynccontextmanager
async def receiving(intake: FakeIntake) -> AsyncIterator[tuple[UdpChannel, Script]]:
    channel = UdpChannel("udp", SETTINGS)
    script = Script(channel)
    try:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(channel.run(intake))
            yield channel, script
            running.cancel()
    finally:
        script.close()
        await channel.close()


async def test_a_request_is_a_message_of_udp_in_the_chat_of_its_session_or_its_peer() -> None:
    intake = FakeIntake()
    async with receiving(intake) as (_, script):
        script.ask("hello", "a/1")
        script.ask("again", "2", session="nightly")
        first, second = await intake.received(2)
    assert first.address == Address("udp", script.peer, f"{script.peer}/a/1")
    assert second.address == Address("udp", "nightly", f"{script.peer}/2")
    assert (first.text, first.dedupe_key, first.sender.id) == ("hello", "a/1", "udp")


@pytest.mark.parametrize("failed", [True, False])
async def test_an_answer_says_whether_its_run_failed(failed: bool) -> None:
    async with receiving(FakeIntake()) as (channel, script):
        address = Address("udp", script.peer, f"{script.peer}/1")
        text = "x" * (PIECE + 1)
        message = OutboundMessage(address=address, text=text, key="k", failed=failed)
        for part in channel.render(message):
            await channel.send(address, part)
            assert (await script.answer())["is_error"] is failed


async def test_an_answer_goes_to_who_asked_with_its_id_after_a_restart_too() -> None:
    async with receiving(FakeIntake()) as (channel, script):
        address = Address("udp", "nightly", f"{script.peer}/a/1")
        message = OutboundMessage(address=address, text="done", key="k")
        (part,) = channel.render(message)
        await channel.send(address, part)
        assert await script.answer() == {
            "id": "a/1",
            "text": "done",
            "is_error": False,
            "part": 1,
            "parts": 1,
        }
        await channel.send(Address("udp", script.peer), OutboundPart(text="unasked"))
        assert await script.answer() == {"id": "", "text": "unasked", "is_error": False}


async def test_a_long_answer_comes_in_numbered_parts() -> None:
    async with receiving(FakeIntake()) as (channel, script):
        address = Address("udp", script.peer, f"{script.peer}/1")
        text = "\x00" * PIECE + "é" * PIECE + "end"
        for part in channel.render(OutboundMessage(address=address, text=text, key="k")):
            await channel.send(address, part)
        answers = [await script.answer() for _ in range(3)]
    assert "".join(piece["text"] for piece in answers) == text
    assert [(piece["part"], piece["parts"]) for piece in answers] == [(1, 3), (2, 3), (3, 3)]


async def test_choices_are_written_out() -> None:
    channel = UdpChannel("udp", SETTINGS)
    message = OutboundMessage(
        address=Address("udp", "s"), text="May I?", key="k", choices=(Choice("Yes", "/approve 1"),)
    )
    (part,) = channel.render(message)
    assert part.text == "May I?\n- `/approve 1`: Yes"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "JSON is malformed"),
        (b"[" * 60_000, "Expected `object`"),
        (b'{"x":' + b"[" * 60_000, "recursion"),
        (b'"' + b"x" * 65_000 + b'"', "at most 65000 bytes"),
        ({"token": "wrong", "id": "1", "text": "hi"}, "the token is wrong"),
        ({"token": "\u00e9", "id": "1", "text": "hi"}, "the token is wrong"),
        ({"id": "1", "text": "hi"}, "missing required field `token`"),
        ({"token": "long enough", "id": "", "text": "hi"}, "length >= 1"),
        ({"token": "long enough", "id": "1" * 201, "text": "hi"}, "length <= 200"),
        ({"token": "long enough", "id": 1, "text": "hi"}, "Expected `str`"),
        ({"token": "long enough", "id": "1", "text": None}, "Expected `str`"),
        ([1], "Expected `object`"),
    ],
)
async def test_what_cannot_be_taken_is_answered_with_the_reason(
    request_: object, reason: str, intake: FakeIntake
) -> None:
    async with receiving(intake) as (_, script):
        script.send(request_)
        answer = await script.answer()
        assert answer["is_error"]
        assert answer["text"].startswith("not taken: ")
        assert reason in answer["text"]
        assert SETTINGS["token"] not in answer["text"]
        script.ask("hello")
        await intake.received(1)


async def test_an_answer_is_never_answered(intake: FakeIntake) -> None:
    async with receiving(intake) as (_, script):
        script.send({"id": "1", "text": "not taken", "is_error": True})
        script.send({"token": "wrong", "id": "1", "text": "hi"})
        assert (await script.answer())["text"] == "not taken: the token is wrong"


async def test_what_the_intake_refuses_ends_the_run_and_the_next_one_goes_on() -> None:
    intake = FakeIntake()
    intake.failures = [StoreUnwritable("the disk is full")]
    channel = UdpChannel("udp", SETTINGS)
    script = Script(channel)
    script.ask("hello")
    with pytest.raises(StoreUnwritable):
        await channel.run(intake)
    script.ask("hello")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(channel.run(intake))
        await intake.received(1)
        running.cancel()
    script.close()
    await channel.close()


async def test_a_port_that_is_taken_is_a_channel_that_is_down() -> None:
    async with receiving(FakeIntake()) as (channel, _):
        port = channel.listen().getsockname()[1]
        second = UdpChannel("udp", {**SETTINGS, "port": port})
        with pytest.raises(ChannelDown, match=r"channels\.udp hears nothing.*in use"):
            await second.run(FakeIntake())
        with pytest.raises(NotSent, match="in use"):
            await second.send(Address("udp", "127.0.0.1:9"), OutboundPart(text="x"))
        await second.close()


async def test_where_nobody_asked_nothing_can_be_sent() -> None:
    async with receiving(FakeIntake()) as (channel, _):
        with pytest.raises(Refused, match="no program has sent a request in the session nightly"):
            await channel.send(Address("udp", "nightly"), OutboundPart(text="x"))
        with pytest.raises(NotSent):
            await channel.send(Address("udp", "127.0.0.1:99999"), OutboundPart(text="x"))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"token": "short"},
        {"token": 12345678},
        {"token": "long enough", "port": 65_536},
        {"token": "long enough", "port": "a"},
        {"token": "long enough", "host": "0.0.0.0"},
        {"token": "long enough", "host": "localhost"},
        {"token": "long enough", "host": "127.0.0.1.example.org"},
    ],
)
def test_settings_that_cannot_work_are_refused_with_their_place(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^channels\.work: "):
        open_channel("work", settings)


def test_a_port_may_come_as_text_as_variables_do() -> None:
    open_channel("udp", {"token": "long enough", "port": "8766"})
