"""Files that come with messages: fetched before anybody takes these, and never at their cost."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from nanobot.errors import BadCredentials, ChannelDown, Refused, StoreUnwritable
from nanobot.messages import Address, Attachment, InboundMessage, Sender
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.placed_files import PlacedFiles
from nanobot.providers.base import ImagePart, ModelProfile, ModelRequest, TextPart
from nanobot.session.entries import UserEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER, OWNER
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received
from tests.doubles.files_channel import FilesChannel
from tests.pictures import png

SEEING = ModelProfile(name="eyes", provider="test", images=True)
PHOTO = Attachment("image", ref="photo", name="cat.png")
LIMIT = 1_000


def received(folder: Path) -> Received:
    files = ConfinedFiles(folder / "workspace")
    labels = TaintedFiles(files.workspace, MemoryMarks())
    return Received(Blobs(folder / "blobs"), PlacedFiles(files, labels))


@asynccontextmanager
async def serving(
    folder: Path,
    channel: FilesChannel,
    provider: ScriptedProvider | None = None,
    home: MemoryHome | None = None,
) -> AsyncIterator[FakeGateway]:
    options = Options(received=received(folder), max_attachment=LIMIT)
    provider = provider or ScriptedProvider(model=SEEING)
    async with gateway(provider, channel, options=options, home=home) as bot:
        yield bot


@pytest.fixture
def channel() -> FilesChannel:
    channel = FilesChannel()
    channel.put("photo", png())
    return channel


@pytest.fixture
async def bot(tmp_path: Path, channel: FilesChannel) -> AsyncIterator[FakeGateway]:
    async with serving(tmp_path, channel) as opened:
        yield opened


def kept(bot: FakeGateway, chat: str = "1") -> list[Attachment]:
    entries = bot.home.entries(f"fake:{chat}")
    bodies = [entry.body for entry in entries if isinstance(entry.body, UserEntry)]
    return [file for body in bodies for file in body.attachments]


def part_of_album(key: str, file: Attachment) -> InboundMessage:
    return InboundMessage(
        address=Address("fake", "1"),
        message_id=key,
        dedupe_key=key,
        sender=Sender(OWNER),
        text="",
        sent_at=0.0,
        attachments=(file,),
        group_id="album",
    )


def asked(request: ModelRequest) -> tuple[str, list[ImagePart]]:
    """The text and the pictures of a request's last message."""
    content = request.messages[-1].content
    if isinstance(content, str):
        return content, []
    text = "\n".join(part.text for part in content if isinstance(part, TextPart))
    return text, [part for part in content if isinstance(part, ImagePart)]


async def test_a_picture_reaches_the_model_and_the_workspace(
    tmp_path: Path, channel: FilesChannel
) -> None:
    async with serving(tmp_path, channel) as bot:
        await channel.push("what is this?", attachments=(PHOTO,))
        await channel.pop()
        (request,) = bot.provider.requests
        (file,) = kept(bot)
    text, (image,) = asked(request)
    assert base64.b64decode(image.data) == png()
    assert image.mime == "image/png"
    assert text.endswith(f"what is this?\n[image cat.png: {file.path}]")
    assert (tmp_path / "workspace" / file.path).read_bytes() == png()
    assert channel.limits == {LIMIT}


async def test_pictures_of_all_parts_of_an_album_are_seen_in_one_run(
    tmp_path: Path, channel: FilesChannel
) -> None:
    channel.put("second", png(2, 2))
    held = channel.held["photo"] = asyncio.Event()
    clock = ManualClock()
    async with MemoryHome(clock) as home, serving(tmp_path, channel, home=home) as bot:
        second = Attachment("image", ref="second", name="dog.png")
        await bot.intake.admit([part_of_album("1", PHOTO), part_of_album("2", second)])
        await channel.until(lambda: set(channel.fetched) == {"photo", "second"})
        clock.advance(1.0)
        held.set()
        await channel.pop()
        (request,) = bot.provider.requests
    images = [
        base64.b64decode(part.data)
        for message in request.messages
        if not isinstance(message.content, str)
        for part in message.content
        if isinstance(part, ImagePart)
    ]
    assert images == [png(), png(2, 2)]


async def test_a_slow_file_keeps_nobody_else_waiting(tmp_path: Path, channel: FilesChannel) -> None:
    held = channel.held["photo"] = asyncio.Event()
    async with serving(tmp_path, channel) as bot:
        await channel.push("slow", attachments=(PHOTO,), chat="1")
        await channel.push("behind", chat="1")
        await channel.push("elsewhere", chat="2")
        assert (await channel.pop()).address.chat_id == "2"
        assert len(bot.provider.requests) == 1
        held.set()
        assert (await channel.pop()).address.chat_id == "1"


async def test_the_slow_files_of_one_person_keep_nobody_elses_waiting(
    channel: FilesChannel, bot: FakeGateway
) -> None:
    held = asyncio.Event()
    for number in range(20):
        ref = f"slow {number}"
        channel.put(ref, b"slow")
        channel.held[ref] = held
        slow = Attachment("document", ref=ref, name=f"{number}.txt")
        await channel.push("slow", attachments=(slow,), chat=f"chat {number}")
    await channel.push("quick", attachments=(PHOTO,), chat="quick", sender=MEMBER)
    assert (await channel.pop()).address.chat_id == "quick"
    assert len([ref for ref in channel.fetched if ref.startswith("slow")]) == 2
    held.set()
    assert len({(await channel.pop()).address.chat_id for _ in range(20)}) == 20
    assert bot.host.state == "up"


async def test_an_unforeseen_error_is_survived_and_the_files_come(
    tmp_path: Path, channel: FilesChannel
) -> None:
    failures: list[Exception] = [KeyError("unforeseen")] * 3
    async with MemoryHome() as home, serving(tmp_path, channel, home=home) as bot:

        def before(verb: str) -> None:
            if verb == "fetched" and failures:
                raise failures.pop()

        bot.process.before = before
        await channel.push("first", attachments=(PHOTO,))
        await channel.pop()
        await channel.push("second", attachments=(PHOTO,))
        await channel.pop()
        assert [bool(file.blob) for file in kept(bot)] == [True, True]
    assert not failures


async def test_waiting_messages_that_cannot_be_read_end_nothing(
    tmp_path: Path, channel: FilesChannel
) -> None:
    async with serving(tmp_path, channel) as bot:
        failures: list[Exception] = [KeyError("unforeseen")] * 2

        def before(verb: str) -> None:
            if verb == "" and channel.fetched == [] and failures:
                raise failures.pop()

        bot.process.before = before
        await channel.push("hello", attachments=(PHOTO,))
        await channel.pop()
        (file,) = kept(bot)
    assert file.blob


async def test_a_platform_that_is_down_is_asked_again(
    tmp_path: Path, channel: FilesChannel
) -> None:
    channel.put("photo", ChannelDown("502"), ChannelDown("429", retry_after=7.0), png())
    async with serving(tmp_path, channel) as bot:
        await channel.push("look", attachments=(PHOTO,))
        await channel.pop()
        (file,) = kept(bot)
    assert file.blob
    assert channel.fetched == ["photo"] * 3


async def test_one_that_stays_down_is_given_up_in_time_and_that_is_said(
    tmp_path: Path, channel: FilesChannel
) -> None:
    channel.put("photo", ChannelDown("the platform is away"))
    async with serving(tmp_path, channel) as bot:
        began = bot.engine.now()
        await channel.push("look", attachments=(PHOTO,))
        await channel.pop()
        text, images = asked(bot.provider.requests[0])
        assert bot.engine.now() - began < 300
    assert images == []
    assert (
        "[image cat.png; not here: it could not be fetched in time (the platform is away)]" in text
    )


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (Refused("the file is older than a day"), "the file is older than a day"),
        (BadCredentials("401"), "401"),
        (ValueError("a bug"), "something went wrong with it here"),
        (RecursionError("another"), "something went wrong with it here"),
    ],
)
async def test_what_will_never_come_is_said_at_once(
    tmp_path: Path, channel: FilesChannel, failure: Exception, reason: str
) -> None:
    channel.put("photo", failure)
    async with serving(tmp_path, channel) as bot:
        await channel.push("look", attachments=(PHOTO,))
        await channel.pop()
        text, _ = asked(bot.provider.requests[0])
    assert reason in text
    assert channel.fetched == ["photo"]


async def test_a_file_over_the_limit_is_not_fetched_and_the_setting_is_named(
    tmp_path: Path, channel: FilesChannel
) -> None:
    channel.put("big", b"x" * (LIMIT + 1))
    announced = Attachment("document", ref="photo", name="film.mkv", size=LIMIT + 1)
    hidden = Attachment("document", ref="big", name="more.mkv")
    async with serving(tmp_path, channel) as bot:
        await channel.push("look", attachments=(announced, hidden))
        await channel.pop()
        files = kept(bot)
    assert channel.fetched == ["big"]
    assert all("channels.fake.max_attachment_mb" in file.error for file in files)


async def test_one_file_that_fails_costs_the_others_nothing(
    tmp_path: Path, channel: FilesChannel
) -> None:
    channel.put("gone", Refused("it is gone"))
    gone = Attachment("document", ref="gone", name="a.txt")
    async with serving(tmp_path, channel) as bot:
        await channel.push("look", attachments=(gone, PHOTO))
        await channel.pop()
        first, second = kept(bot)
    assert (first.error, second.error) == ("it is gone", "")
    assert second.blob


async def test_a_message_without_files_waits_for_nothing(
    channel: FilesChannel, bot: FakeGateway
) -> None:
    await channel.push("hello")
    await channel.pop()
    assert "fetched" not in bot.process.verbs


async def test_a_picture_sent_while_a_run_goes_on_steers_it(
    tmp_path: Path, channel: FilesChannel
) -> None:
    thinking = Held()
    here = asyncio.Event()
    script = ScriptedProvider(thinking, model=SEEING)
    async with serving(tmp_path, channel, script) as bot:
        bot.process.after = lambda verb: here.set() if verb == "fetched" else None
        await channel.push("hello")
        await thinking.reached.wait()
        await channel.push("and this", attachments=(PHOTO,))
        await here.wait()
        await bot.settle()
        thinking.answer(asks_for("nothing"))
        await channel.pop()
        runs = {entry.run_id for entry in bot.home.entries("fake:1")}
        assert len(asked(bot.provider.requests[1])[1]) == 1
    assert len(runs) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_after_a_crash_around_the_commit_it_goes_on_and_nothing_is_lost(
    tmp_path: Path, channel: FilesChannel, when: str
) -> None:
    async with MemoryHome() as home:
        died = asyncio.Event()
        async with serving(tmp_path, channel, home=home) as bot:

            def die(verb: str) -> None:
                if verb == "fetched":
                    bot.crash()
                    died.set()

            setattr(bot.process, when, die)
            await channel.push("look", attachments=(PHOTO,), key="u1")
            await died.wait()
        again = FilesChannel()
        again.put("photo", png())
        async with serving(tmp_path, again, home=home) as bot:
            await again.pop()
            (request,) = bot.provider.requests
            (file,) = kept(bot)
    assert len(asked(request)[1]) == 1
    assert file.path.endswith("/cat.png")
    assert again.fetched == (["photo"] if when == "before" else [])
    files = [path for path in (tmp_path / "workspace").rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["cat.png"]


async def test_a_store_in_trouble_is_waited_for(tmp_path: Path, channel: FilesChannel) -> None:
    failures = 3

    def full(verb: str) -> None:
        nonlocal failures
        if verb == "fetched" and failures:
            failures -= 1
            raise StoreUnwritable("the disk is full")

    async with serving(tmp_path, channel) as bot:
        bot.process.before = full
        await channel.push("look", attachments=(PHOTO,))
        await channel.pop()
    assert channel.fetched == ["photo"]
    assert failures == 0


async def test_an_image_that_is_gone_from_the_disk_is_said_to_be(
    tmp_path: Path, channel: FilesChannel
) -> None:
    async with serving(tmp_path, channel) as bot:
        await channel.push("look", attachments=(PHOTO,))
        await channel.pop()
        for blob in (tmp_path / "blobs").rglob("*"):
            if blob.is_file():
                blob.unlink()
        await channel.push("and again")
        await channel.pop()
        request = bot.provider.requests[-1]
    parts = request.messages[1].content
    assert not isinstance(parts, str)
    assert parts[-1] == TextPart("[this image is not here any more]")


async def test_a_model_without_eyes_is_told_so_and_so_is_the_person(
    tmp_path: Path, channel: FilesChannel
) -> None:
    blind = ScriptedProvider(model=ModelProfile(name="m", provider="p"))
    async with serving(tmp_path, channel, blind) as bot:
        await channel.push("look", attachments=(PHOTO,))
        answer = (await channel.pop()).text
        assert answer.endswith("\n\n(m cannot see pictures: it was only told of them.)")
        text, images = asked(bot.provider.requests[0])
        await channel.push("and now?")
        assert "pictures" not in (await channel.pop()).text.rpartition("\n\n")[2]
    assert images == []
    assert "you cannot see pictures]" in text


async def test_names_that_no_store_takes_cost_no_message(
    tmp_path: Path, channel: FilesChannel
) -> None:
    file = Attachment("document", ref="photo", name="\ud800\x00.txt", mime="text/\udfff")
    message = msgspec.structs.replace(part_of_album("1", file), group_id=None, quote="\ud83d half")
    async with serving(tmp_path, channel) as bot:
        await bot.intake.admit([message])
        await channel.pop()
        text, _ = asked(bot.provider.requests[0])
    assert '[in reply to: "half"]' in text


# A clock that is set meanwhile

JUMPS = [sign * by for by in (1, 60, 299, 301, 3_600, 86_400, 365 * 86_400) for sign in (-1, 1)]


class Setting(FilesChannel):
    """Somebody sets the clock at the second try."""

    def __init__(self, clock: ManualClock, by: float) -> None:
        super().__init__()
        self._clock = clock
        self._by = by

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        if len(self.fetched) == 1:
            self._clock.set_by(self._by)
        return await super().fetch(attachment, limit)


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_clock_that_is_set_changes_nothing_in_how_long_a_file_is_tried(
    tmp_path: Path, jump: float
) -> None:
    clock = ManualClock()
    channel = Setting(clock, jump)
    channel.put("photo", ChannelDown("the platform is away"))
    async with MemoryHome(clock) as home, serving(tmp_path, channel, home=home) as bot:
        began = clock.monotonic()
        await channel.push("what is this?", attachments=(PHOTO,))
        await channel.pop()
        (file,) = kept(bot)
        assert "could not be fetched in time" in file.error
        assert 180.0 < clock.monotonic() - began < 300.0
