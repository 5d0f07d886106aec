"""Several files of one message are one album on Telegram, or single files where there is none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nanobot.channels.host import Hosting
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.channels.sender import PartSender
from nanobot.errors import BlobMissing, OutcomeUnknown, Refused
from nanobot.messages import Address, Attachment, OutboundKind, OutboundMessage
from nanobot.ports import Albums, OutboundPart
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import FakeChannel
from nanobot_channels.telegram import TelegramChannel
from tests.channels.seeing import states
from tests.channels.test_telegram_extras import png
from tests.doubles.telegram_rules import Message
from tests.doubles.telegram_server import TelegramServer

CHAT = Address("telegram", "1")
MEGABYTE = 1_000_000
PNG, GIF, VOICE = png(80, 60), b"GIF89a\5\0\5\0", b"OggS" + b"\0" * 24 + b"OpusHead"
CONTENTS = {"png": PNG, "gif": GIF, "ogg": VOICE, "mp3": b"ID3", "mp4": b"\0ftyp", "pdf": b"%PDF"}


class Shelf:
    """The content of a file by the last part of its name."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self.instead: dict[str, bytes] = {}

    async def read(self, digest: str) -> bytes:
        if digest in self.missing:
            raise BlobMissing(f"the file {digest} is not here any more")
        return self.instead.get(digest) or CONTENTS[digest.rpartition(".")[2]]


def files(*names: str, size: int = 100) -> tuple[Attachment, ...]:
    return tuple(Attachment(kind="document", name=n, blob=n, size=size) for n in names)


class Wired(FakeChannel):
    """A channel of the fake gateway whose messages go to the double over the wire."""

    def __init__(self, channel: TelegramChannel) -> None:
        super().__init__("telegram", capabilities=channel.capabilities)
        self.render = channel.render  # type: ignore[method-assign]
        self.send = channel.send  # type: ignore[method-assign]
        self.find = channel.find  # type: ignore[method-assign]
        self.send_file = channel.send_file
        self.together = channel.together
        self.send_album = channel.send_album


def hosted(shelf: Shelf | None = None) -> Options:
    return Options(hosting=Hosting(blobs=shelf or Shelf()))


async def owe(bot: FakeGateway, *names: str) -> None:
    """A message with these files, until it is settled."""
    message = OutboundMessage(
        address=CHAT, text="Here.", key="k", kind=OutboundKind.POST, attachments=files(*names)
    )
    await bot.journal.post("telegram:1", message)
    bot.bus.owed(CHAT)
    await settled(bot)


async def settled(bot: FakeGateway) -> None:
    for _ in range(500):
        if states(bot) == ["sent"]:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not sent: {states(bot)}")


def shown(telegram: TelegramServer) -> list[list[str]]:
    """The files of each message that a person sees, its album as one; a text by itself."""
    groups: dict[str, list[str]] = {}
    for message in telegram.messages(1):
        group = message.params.get("media_group_id") or f"m{message.message_id}"
        groups.setdefault(group, []).append(_what(message))
    return list(groups.values())


def _what(message: Message) -> str:
    return message.file.name if message.file else message.text


async def test_several_photos_and_videos_arrive_as_one_album(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    async with gateway(channel=Wired(channel), options=hosted()) as bot:
        await owe(bot, "a.png", "b.mp4", "c.png")
    assert shown(telegram) == [["Here."], ["a.png", "b.mp4", "c.png"]]
    uploads = [m.file for m in telegram.messages(1) if m.file]
    assert [(u.kind, u.content) for u in uploads] == [
        ("photo", PNG),
        ("video", CONTENTS["mp4"]),
        ("photo", PNG),
    ]


async def test_a_mix_is_divided_in_its_order(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    names = ["1.pdf", "2.pdf", "3.png", "4.mp4", "5.gif", "6.ogg", "7.mp3", "8.mp3", "9.pdf"]
    async with gateway(channel=Wired(channel), options=hosted()) as bot:
        await owe(bot, *names)
    assert shown(telegram)[1:] == [
        ["1.pdf", "2.pdf"],
        ["3.png", "4.mp4"],
        ["5.gif"],
        ["6.ogg"],
        ["7.mp3", "8.mp3"],
        ["9.pdf"],
    ]
    assert {call.status for call in telegram.calls} == {200}


async def test_an_album_has_at_most_ten_files(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    names = [f"{number}.png" for number in range(11)]
    async with gateway(channel=Wired(channel), options=hosted()) as bot:
        await owe(bot, *names)
    assert shown(telegram)[1:] == [names[:10], names[10:]]


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 400, "description": "Bad Request: IMAGE_PROCESS_FAILED"},
        {"status": 413},
        {"status": 404, "description": "Not Found: method not found"},
    ],
    ids=["refused", "too large", "not known"],
)
async def test_a_refused_album_arrives_as_single_files(
    telegram: TelegramServer, channel: TelegramChannel, fault: dict[str, Any]
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMediaGroup", **fault)
    async with gateway(channel=Wired(channel), options=hosted()) as bot:
        await owe(bot, "a.png", "b.png")
    assert shown(telegram) == [["Here."], ["a.png"], ["b.png"]]
    assert len(telegram.calls_of("sendMediaGroup")) == 1


async def test_what_turns_out_to_be_another_kind_arrives_as_single_files(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    shelf = Shelf()
    shelf.instead["b.png"] = b"no picture"
    async with gateway(channel=Wired(channel), options=hosted(shelf)) as bot:
        await owe(bot, "a.png", "b.png")
    assert shown(telegram) == [["Here."], ["a.png"], ["b.png"]]
    assert not telegram.calls_of("sendMediaGroup")


async def test_of_an_album_with_a_missing_file_the_others_arrive(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    shelf = Shelf()
    shelf.missing.add("a.png")
    async with gateway(channel=Wired(channel), options=hosted(shelf)) as bot:
        await owe(bot, "a.png", "b.png")
    line = "(The file a.png could not be sent: the file a.png is not here any more)"
    assert shown(telegram) == [["Here."], [line], ["b.png"]]


async def test_after_a_lost_answer_the_album_is_repeated_with_a_mark(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMediaGroup", drop="after", times=1)
    async with gateway(channel=Wired(channel), options=hosted()) as bot:
        await owe(bot, "a.png", "b.png")
    album = ["a.png", "b.png"]
    assert shown(telegram) == [["Here."], album, [REPEAT_LINE], album]


async def test_of_single_files_only_those_that_did_not_arrive_are_sent_again(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMediaGroup", status=400)
    telegram.fail("sendPhoto", status=500, skip=1, times=1)
    async with gateway(channel=Wired(channel), options=hosted()) as bot:
        await owe(bot, "a.png", "b.png")
    assert shown(telegram) == [["Here."], ["a.png"], ["b.png"]]


async def test_after_a_crash_the_album_is_still_known(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    album = ["a.png", "b.png"]
    async with MemoryHome() as home:
        async with gateway(channel=Wired(channel), home=home, options=hosted()) as bot:
            count = 0

            def crash(verb: str) -> None:
                nonlocal count
                count += verb == "receipt"
                if count == 1:
                    bot.crash()

            bot.process.after = crash
            owing = asyncio.create_task(owe(bot, *album))
            async with asyncio.timeout(20):
                while not bot.process.dead:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            owing.cancel()
        async with gateway(channel=Wired(channel), home=home, options=hosted()) as bot:
            await settled(bot)
    assert shown(telegram) == [["Here."], [REPEAT_LINE], album]


async def test_a_server_without_albums_is_asked_once(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMediaGroup", status=404, description="Not Found: method not found")
    some = files("a.png", "b.png")
    assert isinstance(channel, Albums)
    assert channel.together(some) == 2
    part = OutboundPart(text="", file=some[0], others=some[1:])
    for _ in range(2):
        with pytest.raises(Refused):
            await channel.send_album(CHAT, part, [PNG, PNG])
    assert len(telegram.calls_of("sendMediaGroup")) == 1
    assert channel.together(some) == 1


async def test_the_caption_is_on_the_first_in_its_topic_as_a_reply(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(-5, "hi")
    some = files("a.pdf", "b.pdf")
    part = OutboundPart(
        text="😀" * 512, payload=b'{"reply_to": "101"}', file=some[0], others=some[1:]
    )
    receipt = await channel.send_album(Address("telegram", "-5", "7"), part, [b"x", b"y"])
    first, second = telegram.messages(-5)
    assert receipt == str(first.message_id)
    assert (first.text, second.text) == ("😀" * 512, "")
    assert first.params["message_thread_id"] == "7"
    assert first.params["reply_parameters"]["message_id"] == 101


@pytest.mark.parametrize(
    ("text", "contents"),
    [("😀" * 513, [b"x", b"y"]), ("", [b"x", b""]), ("", [b"x", bytes(50 * MEGABYTE)])],
    ids=["long caption", "empty file", "too large together"],
)
async def test_what_makes_no_album_is_refused_before_anything_is_sent(
    telegram: TelegramServer, channel: TelegramChannel, text: str, contents: list[bytes]
) -> None:
    telegram.say(1, "hi")
    some = files("a.pdf", "b.pdf")
    part = OutboundPart(text=text, file=some[0], others=some[1:])
    with pytest.raises(Refused):
        await channel.send_album(CHAT, part, contents)
    assert not telegram.calls


@pytest.mark.parametrize("body", [b'{"ok": true, "result": []}', b'{"ok": true, "result": 5}'])
async def test_an_answer_that_is_no_album_leaves_the_outcome_unknown(
    telegram: TelegramServer, channel: TelegramChannel, body: bytes
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMediaGroup", body=body)
    some = files("a.pdf", "b.pdf")
    part = OutboundPart(text="", file=some[0], others=some[1:])
    with pytest.raises(OutcomeUnknown):
        await channel.send_album(CHAT, part, [b"x", b"y"])


def test_files_that_are_too_large_together_do_not_go_together(channel: TelegramChannel) -> None:
    assert channel.together(files("a.pdf", "b.pdf", "c.pdf", size=20 * MEGABYTE)) == 2
    assert channel.together(files("a.pdf", "b.pdf", size=60 * MEGABYTE)) == 1
    assert channel.together(files("a.png", "b.pdf", size=11 * MEGABYTE)) == 2  # no photo


async def test_a_file_that_is_not_here_goes_with_none(channel: TelegramChannel) -> None:
    message = OutboundMessage(
        address=CHAT,
        text="",
        key="k",
        attachments=(*files("a.png"), Attachment("image", name="lost.png"), *files("b.png")),
    )
    async with gateway() as bot:
        parts = await PartSender(channel, ManualClock(), bot.host.moved).render(message)
    assert [len(part.others) for part in parts] == [0, 0, 0]
