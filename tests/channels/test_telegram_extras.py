"""Files, reactions and the menu go to Telegram and come from it as it documents them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from nanobot.errors import ChannelDown, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Attachment
from nanobot.ports import (
    Commanding,
    Editing,
    Fetching,
    Filing,
    MenuCommand,
    OutboundPart,
    Reacting,
    Reaction,
)
from nanobot.testing.machine import ManualClock
from nanobot_channels.telegram import TelegramChannel
from tests.doubles.telegram_rules import Upload
from tests.doubles.telegram_server import TelegramServer

CHAT = Address("telegram", "1")
MEGABYTE = 1_000_000


def test_a_telegram_channel_does_all_that_channels_can(channel: TelegramChannel) -> None:
    for ability in (Editing, Fetching, Filing, Reacting, Commanding):
        assert isinstance(channel, ability)


# Files that come.


def attachment(ref: str, size: int = 0) -> Attachment:
    return Attachment(kind="document", ref=ref, name="a.bin", size=size)


async def test_a_file_is_fetched(telegram: TelegramServer, channel: TelegramChannel) -> None:
    content = bytes(range(256)) * 4000
    ref = telegram.extras.put_file(content, "documents/ä b%20c#1.bin")
    assert await channel.fetch(attachment(ref), 2 * MEGABYTE) == content
    empty = telegram.extras.put_file(b"")
    assert await channel.fetch(attachment(empty), 10) == b""


@pytest.mark.parametrize(
    ("file_size", "size_in_message"),
    [(3000, 3000), (3000, 0), (10, 0)],
    ids=["known", "told", "lied about"],
)
async def test_a_file_beyond_the_limit_is_refused_with_both_sizes(
    telegram: TelegramServer, channel: TelegramChannel, file_size: int, size_in_message: int
) -> None:
    ref = telegram.extras.put_file(b"x" * 3000, size=file_size)
    with pytest.raises(Refused, match="2,000 bytes"):
        await channel.fetch(attachment(ref, size_in_message), 2000)


async def test_a_file_beyond_telegrams_own_limit_is_refused_with_that_limit(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    ref = telegram.extras.put_file(b"x", size=35 * MEGABYTE)
    with pytest.raises(Refused, match="at most 20 MB, and this one has 35 MB"):
        await channel.fetch(attachment(ref, 35 * MEGABYTE), 100 * MEGABYTE)


async def test_a_file_that_is_gone_is_refused(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    with pytest.raises(Refused, match="send it again"):
        await channel.fetch(attachment("nothing"), 10)
    ref = telegram.extras.put_file(b"x")
    telegram.extras.paths.clear()
    with pytest.raises(Refused, match="send it again"):
        await channel.fetch(attachment(ref), 10)


@pytest.mark.parametrize("path", ["/var/lib/bot/a.pdf", "C:\\bot\\a.pdf"])
async def test_a_server_that_keeps_files_on_its_disk_is_told_about(
    telegram: TelegramServer, channel: TelegramChannel, path: str
) -> None:
    ref = telegram.extras.put_file(b"x", path)
    with pytest.raises(Refused, match="--local"):
        await channel.fetch(attachment(ref), 10)
    assert not telegram.calls_of("(download)")


@pytest.mark.parametrize("method", ["getFile", "(download)"])
@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"status": 429, "retry_after": 3}, {"drop": "before"}], ids=str
)
async def test_what_may_come_later_is_no_refusal(
    telegram: TelegramServer, channel: TelegramChannel, method: str, fault: dict[str, Any]
) -> None:
    ref = telegram.extras.put_file(b"x" * 10)
    telegram.fail(method, times=1 if "status" in fault else None, **fault)
    with pytest.raises(ChannelDown) as raised:
        await channel.fetch(attachment(ref), 10)
    assert telegram.token not in str(raised.value)


@pytest.mark.parametrize("result", [b"5", b'{"file_path": 5}', b"null"])
async def test_an_answer_that_is_no_file_may_come_right_later(
    telegram: TelegramServer, channel: TelegramChannel, result: bytes
) -> None:
    ref = telegram.extras.put_file(b"x")
    telegram.fail("getFile", body=b'{"ok": true, "result": ' + result + b"}")
    with pytest.raises(ChannelDown):
        await channel.fetch(attachment(ref), 10)


async def test_without_a_connection_a_file_may_come_later(clock: ManualClock) -> None:
    async with TelegramServer() as stopped:
        pass
    channel = TelegramChannel("telegram", stopped.token, stopped.root_url, clock=clock)
    with pytest.raises(ChannelDown):
        await channel.fetch(attachment("F1"), 10)
    await channel.close()


# Files that go.


def png(width: int, height: int, size: int = 100) -> bytes:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR"
    return (head + struct.pack(">II", width, height)).ljust(size, b"\0")


def part(name: str, mime: str = "", text: str = "", kind: str = "document") -> OutboundPart:
    return OutboundPart(text=text, file=Attachment(kind=kind, name=name, mime=mime))


async def uploaded(
    telegram: TelegramServer, channel: TelegramChannel, part: OutboundPart, content: bytes
) -> Upload:
    telegram.say(1, "hi")
    message_id = await channel.send_file(CHAT, part, content)
    message = telegram.messages(1)[-1]
    assert (str(message.message_id), message.text) == (message_id, part.text)
    assert message.file is not None
    assert message.file.content == content
    return message.file


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 60, 80)
WEBP = b"RIFF\0\0\0\0WEBP"


@pytest.mark.parametrize(
    ("content", "name", "mime", "kind"),
    [
        (png(80, 60), "a.png", "image/png", "photo"),
        (png(5000, 5000), "a.png", "image/png", "photo"),
        (png(5000, 5001), "a.png", "image/png", "document"),
        (png(2100, 100), "a.png", "image/png", "document"),
        (png(80, 60, 10 * MEGABYTE + 1), "a.png", "image/png", "document"),
        (png(80, 60)[:18], "a.png", "image/png", "document"),
        (JPEG, "a.jpg", "image/jpeg", "photo"),
        (JPEG[:9], "a.jpg", "image/jpeg", "document"),
        (b"GIF89a" + struct.pack("<HH", 5, 5), "a.gif", "image/gif", "animation"),
        (b"OggS" + b"\0" * 24 + b"OpusHead", "a.ogg", "audio/ogg", "voice"),
        (b"OggS" + b"\0" * 24 + b"\x01vorbis", "a.ogg", "audio/ogg", "document"),
        (b"ID3", "a.mp3", "", "audio"),
        (b"\0\0\0\x18ftypM4A ", "a", "audio/mp4", "audio"),
        (b"\0\0\0\x18ftypmp42", "a.mp4", "video/mp4", "video"),
        (b"<svg/>", "a.svg", "image/svg+xml", "document"),
        (b"hello", "größe.txt", "text/plain", "document"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_a_file_goes_out_as_what_telegram_shows_it_as(
    telegram: TelegramServer,
    channel: TelegramChannel,
    content: bytes,
    name: str,
    mime: str,
    kind: str,
) -> None:
    upload = await uploaded(telegram, channel, part(name, mime, "look"), content)
    assert (upload.kind, upload.name) == (kind, name)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (WEBP + b"VP8X" + b"\0" * 8 + b"\x4f\0\0\x3b\0\0", "document"),
        (WEBP + b"VP8L" + b"\0" * 5 + struct.pack("<I", 79 | 59 << 14), "document"),
        (WEBP + b"VP8 " + b"\0" * 10 + struct.pack("<HH", 80, 60), "document"),
    ],
    ids=["VP8X", "VP8L", "VP8 "],
)
async def test_a_photo_that_telegram_does_not_take_goes_out_as_a_document(
    telegram: TelegramServer, channel: TelegramChannel, content: bytes, kind: str
) -> None:
    upload = await uploaded(telegram, channel, part("a.webp", "image/webp"), content)
    assert upload.kind == kind
    assert [call.status for call in telegram.calls_of("sendPhoto")] == [400]


async def test_a_long_caption_goes_before_the_file(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(-5, "hi")
    address = Address("telegram", "-5", "7")
    await channel.send_file(address, part("a.txt", text="😀" * 512), b"x")
    await channel.send_file(address, part("a.txt", text="😀" * 513), b"x")
    texts = [(bool(m.file), m.text) for m in telegram.messages(-5)]
    assert texts == [(True, "😀" * 512), (False, "😀" * 513), (True, "")]
    assert {m.params["message_thread_id"] for m in telegram.messages(-5)} == {"7"}


async def test_files_that_telegram_never_takes_are_refused_before_they_are_sent(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    with pytest.raises(Refused, match="at most 50 MB"):
        await channel.send_file(CHAT, part("a.bin"), bytes(50 * MEGABYTE + 1))
    with pytest.raises(Refused, match=r"a\.bin is an empty file"):
        await channel.send_file(CHAT, part("a.bin"), b"")
    with pytest.raises(Refused):
        await channel.send_file(CHAT, OutboundPart(text="no file"), b"x")
    assert not telegram.calls


async def test_a_file_without_a_name_gets_one(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    upload = await uploaded(telegram, channel, part("", "text/csv"), b"a;b")
    assert upload.name == "document.csv"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"status": 429, "retry_after": 2}, NotSent),
        ({"status": 413}, Refused),
        ({"status": 500}, NotSent),
        ({"drop": "after"}, OutcomeUnknown),
        ({"body": b'{"ok": true, "result": {}}'}, OutcomeUnknown),
    ],
    ids=str,
)
async def test_a_failed_upload_tells_what_became_of_it(
    telegram: TelegramServer,
    channel: TelegramChannel,
    fault: dict[str, Any],
    expected: type[Exception],
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendDocument", **fault)
    with pytest.raises(expected):
        await channel.send_file(CHAT, part("a.txt"), b"x")
    assert len(telegram.calls_of("sendDocument")) == 1


# Reactions and the menu.


async def test_a_mark_is_put_to_a_message_in_the_place_of_the_one_before(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    emoji = []
    for mark in Reaction:
        await channel.react(CHAT, "101", mark)
        emoji += telegram.extras.reactions[1, 101]
    assert emoji == ["👀", "👍", "👎"]
    telegram.fail("setMessageReaction", status=400, description="Bad Request: REACTION_INVALID")
    with pytest.raises(Refused):
        await channel.react(CHAT, "101", Reaction.DONE)


async def test_the_menu_holds_what_telegram_takes(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    commands = [
        MenuCommand("help", "What I\nunderstand."),
        MenuCommand("sessions list", "Sessions."),
        MenuCommand("sessions show", "One of them."),
        MenuCommand("audit verify", "Check the log."),
        MenuCommand("Model", "x" * 300, usage="NAME"),
        MenuCommand("no-such-name", "A hyphen."),
        MenuCommand("x" * 33, "Too long."),
        MenuCommand("silent", " "),
        *(MenuCommand(f"c{n}", "One of many.") for n in range(120)),
    ]
    await channel.register(commands)
    menu = {entry["command"]: entry["description"] for entry in telegram.extras.commands}
    assert len(telegram.extras.commands) == len(menu) == 100
    assert list(menu)[:5] == ["help", "sessions", "audit", "model", "c0"]
    assert menu["help"] == "What I understand."
    assert menu["sessions"] == "list, show"
    assert menu["audit"] == "verify: Check the log."
    assert len(menu["model"]) == 256


async def test_a_chat_may_have_a_menu_of_its_own(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    await channel.register([MenuCommand("help", "Help.")])
    telegram.say(7, "hi")
    await channel.register_in(
        "7", [MenuCommand("help", "Help."), MenuCommand("runs list", "Runs.")]
    )
    assert [entry["command"] for entry in telegram.extras.commands] == ["help"]
    assert [entry["command"] for entry in telegram.extras.commands_of[7]] == ["help", "runs"]
    await channel.register_in("7", [])
    assert 7 not in telegram.extras.commands_of


async def test_each_menu_is_there_in_each_language(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    commands = [MenuCommand("help", "Help.", "", (("zh", "帮助"),)), MenuCommand("new", "New.")]
    telegram.say(7, "hi")
    await channel.register(commands)
    await channel.register_in_groups(commands)
    await channel.register_in("7", commands)
    for scope in ("default", "all_group_chats", "7"):
        menus = telegram.extras.menus[scope]
        shown = {code: [entry["description"] for entry in menu] for code, menu in menus.items()}
        assert shown == {"": ["Help.", "New."], "zh": ["帮助", "New."]}


async def test_a_menu_that_cannot_be_set_is_a_channels_error(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.fail("setMyCommands", status=500)
    with pytest.raises(NotSent):
        await channel.register([MenuCommand("help", "Help.")])
