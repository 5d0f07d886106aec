"""What leaves for a platform: files where they are taken, a line about them everywhere else."""

from __future__ import annotations

import asyncio
import threading

import pytest

from nanobot.channels.host import Hosting
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.channels.sender import PartSender
from nanobot.errors import BlobMissing, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Attachment, OutboundKind, OutboundMessage
from nanobot.plugins.language.service import in_language
from nanobot.ports import OutboundPart
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import FakeChannel, FakePlatform
from tests.channels.seeing import seen, states

CHAT = Address("fake", "1")
REPORT = Attachment(kind="document", name="report.pdf", blob="ab12", path="out/report.pdf")
PHOTO = Attachment(kind="image", blob="cd34")


class Shelf:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.kept = {"ab12": b"%PDF", "cd34": b"\x89PNG"}

    async def read(self, digest: str) -> bytes:
        if digest not in self.kept:
            raise BlobMissing(f"the file {digest} is not here any more")
        return self.kept[digest]


def shelved(shelf: Shelf | None = None) -> Options:
    return Options(hosting=Hosting(blobs=shelf or Shelf()))


async def owe(bot: FakeGateway, text: str, *files: Attachment) -> None:
    message = OutboundMessage(
        address=CHAT, text=text, key=f"k:{text}", kind=OutboundKind.POST, attachments=files
    )
    await bot.journal.post("fake:1", message)
    bot.bus.owed(CHAT)
    await bot.settle()


async def test_files_follow_the_text_in_order(platform: FakePlatform) -> None:
    async with gateway(channel=platform, options=shelved()) as bot:
        await owe(bot, "Here they are.", REPORT, PHOTO)
        assert seen(bot)[0] == "Here they are."
        sent = [(upload.file, upload.content, upload.caption) for upload in platform.files]
        assert sent == [(REPORT, b"%PDF", ""), (PHOTO, b"\x89PNG", "")]
        assert len({upload.key for upload in platform.sent}) == 3
        assert states(bot) == ["sent"]


async def test_a_file_needs_no_text(platform: FakePlatform) -> None:
    async with gateway(channel=platform, options=shelved()) as bot:
        await owe(bot, "", REPORT)
        assert [upload.file for upload in platform.files] == [REPORT]
        assert len(platform.sent) == 1


async def test_where_files_are_not_taken_a_line_names_them() -> None:
    async with gateway(channel=FakeChannel(), options=shelved()) as bot:
        await owe(bot, "Here they are.", REPORT, PHOTO)
        assert seen(bot) == [
            "Here they are.\n\n"
            "(File: report.pdf, in the workspace as out/report.pdf)\n"
            "(File: image)"
        ]


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (Attachment(kind="image", name="x.png", blob="ee"), "the file ee is not here any more"),
        (Attachment(kind="image", name="x.png"), "its content is not here"),
        (Attachment(kind="image", name="x.png", error="too large"), "too large"),
    ],
)
async def test_a_file_that_cannot_be_sent_leaves_a_line_that_says_why(
    file: Attachment, why: str, platform: FakePlatform
) -> None:
    async with gateway(channel=platform, options=shelved()) as bot:
        await owe(bot, "Look:", file)
        assert seen(bot) == ["Look:", f"(The file x.png could not be sent: {why})"]
        assert platform.files == []
        assert states(bot) == ["sent"]


async def test_a_file_that_the_platform_refuses_leaves_a_line_too(platform: FakePlatform) -> None:
    async with gateway(channel=platform, options=shelved()) as bot:
        platform.fail(Refused("file is too big"))
        await owe(bot, "", REPORT)
        assert seen(bot) == ["(The file report.pdf could not be sent: file is too big)"]
        assert states(bot) == ["sent"]


async def test_lines_about_files_and_repeats_are_in_the_language_of_the_chat(
    platform: FakePlatform,
) -> None:
    async def chinese(message: OutboundMessage) -> OutboundMessage:
        return in_language(message, "zh")

    async with gateway(channel=platform, options=shelved()) as bot:
        bot.bus.outgoing += [chinese]
        await owe(bot, "Stopped.", Attachment(kind="image", name="x.png"))
        line = await PartSender(
            platform, ManualClock(), bot.host.moved, outgoing=bot.bus.outgoing
        ).line(CHAT, REPEAT_LINE, "r")
    assert seen(bot) == ["Stopped.", "（文件 x.png 无法发送：它的内容不在这里）"]
    assert line.text == "（这可能是重复的消息：我无法确定之前是否已送达。）"


async def test_a_file_that_is_not_sent_is_sent_later(platform: FakePlatform) -> None:
    async with gateway(channel=platform, options=shelved()) as bot:
        platform.fail(NotSent("429", retry_after=5), NotSent("503"))
        await owe(bot, "", REPORT)
        assert [upload.content for upload in platform.files] == [b"%PDF"]


async def test_a_file_that_may_have_arrived_is_repeated_after_a_line() -> None:
    platform = FakePlatform()
    async with gateway(channel=platform, options=shelved()) as bot:
        platform.fail(OutcomeUnknown("no answer"))
        await owe(bot, "", REPORT)
        assert seen(bot)[0] == REPEAT_LINE
        assert len(platform.files) == 1


async def test_after_a_crash_the_file_is_still_known() -> None:
    async with MemoryHome() as home:
        platform = FakePlatform()
        async with gateway(channel=platform, home=home, options=shelved()) as bot:
            count = 0

            def crash(verb: str) -> None:
                nonlocal count
                count += verb == "receipt"
                if count == 1:
                    bot.crash()

            bot.process.after = crash
            await owe(bot, "Here it is.", REPORT)
        async with gateway(channel=platform, home=home, options=shelved()) as bot:
            await bot.settle()
            assert [upload.file for upload in platform.files] == [REPORT]
            assert seen(bot) == ["Here it is.", REPEAT_LINE, ""]


async def test_a_bug_in_sending_a_file_leaves_the_outcome_unknown() -> None:
    class Broken(FakePlatform):
        tried = 0

        async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
            self.tried += 1
            if self.tried == 1:
                raise KeyError("a bug")
            return await super().send_file(address, part, content)

    platform = Broken()
    async with gateway(channel=platform, options=shelved()) as bot:
        await owe(bot, "", REPORT)
        assert platform.tried == 2
        assert seen(bot)[0] == REPEAT_LINE


async def test_a_long_text_is_rendered_beside_what_goes_on() -> None:
    class Slow(FakeChannel):
        def render(self, message: OutboundMessage) -> list[OutboundPart]:
            rendering.set()
            assert going_on.wait(10)
            return super().render(message)

    rendering, going_on = threading.Event(), threading.Event()
    message = OutboundMessage(address=Address("fake", "1"), text="long " * 1_000, key="k")
    async with gateway() as bot, asyncio.TaskGroup() as tasks:
        sender = PartSender(Slow(), ManualClock(), bot.host.moved)
        parts = tasks.create_task(sender.render(message))
        await asyncio.to_thread(rendering.wait, 10)
        going_on.set()
    assert "".join(part.text for part in parts.result()) == message.text
