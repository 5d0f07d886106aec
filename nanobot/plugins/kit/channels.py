"""The promises of a channel, as checks that any author of one can run.

    @pytest.mark.parametrize("check", CHECKS)
    async def test_the_pigeons_keep_the_promises_of_a_channel(check: Check) -> None:
        async with Pigeons() as platform:
            await check(platform)

`Pigeons` is what you write: the platform's side of your channel, best at the wire (see Platform).
A promise that is broken is an AssertionError that says which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import msgspec

from nanobot.errors import DeliveryError, Refused, StoreUnwritable, Uncertain
from nanobot.messages import Address, Attachment, Choice, OutboundMessage, Step
from nanobot.plugins.kit.checked_channel import Platform as Platform
from nanobot.plugins.kit.checked_channel import opened, running
from nanobot.plugins.kit.intake import RecordingIntake
from nanobot.plugins.kit.promises import soon, that
from nanobot.ports import (
    Albums,
    Channel,
    Confiding,
    Deleting,
    Drafting,
    Editing,
    OutboundPart,
    PlatformRequest,
    Receiving,
    Streaming,
)

Check: TypeAlias = Callable[[Platform], Awaitable[None]]

_WORDS = " ".join(f"w{number}" for number in range(12_000))
_TEXTS = (
    "hello",
    "",
    " \n\t ",
    "x" * 30_000,
    _WORDS,
    "\n\n".join(f"paragraph {number}" for number in range(3_000)),
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 " * 3_000,
    '"\\' * 20_000,
    "```\n" + "print(1)\n" * 2_000 + "```",
    "**bold** _it_ `code` [link](https://example.org) " * 500,
    "# *unclosed `everything [here](",
)
_CHOICES = (Choice("Yes", "/approve 1"), Choice("No", "/deny 1"))


async def brings_what_was_said(platform: Platform) -> None:
    """A message arrives unchanged, with its sender, chat and time."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "hello there"):
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
    (message,) = intake.taken
    that(
        message.text == "hello there", f"the text is the text of the message, not {message.text!r}"
    )
    that(message.address.channel == "checked", "the address has the channel's name")
    that(message.address.chat_id and message.sender.id, "chat and sender have ids")
    that(message.message_id and message.dedupe_key, "message_id and dedupe_key are there")
    that(message.sent_at > 0, "sent_at is in unix seconds")
    that(message.addressed and not message.group, "in a private chat the bot is meant")


async def acknowledges_only_what_was_admitted(platform: Platform) -> None:
    """The platform is told that a message arrived after the commit, and not before."""
    if platform.acknowledged() is None:
        return
    intake = RecordingIntake()
    intake.opened.clear()
    async with opened(platform) as channel, running(platform, channel, intake, "is it safe?"):
        await intake.until(lambda: bool(intake.offered), "a message is admitted")
        for _ in range(50):
            await asyncio.sleep(0)
        that(platform.acknowledged() == 0, "nothing is acknowledged before admit has returned")
        intake.opened.set()
        await soon(lambda: platform.acknowledged() == 1, "an admitted message is acknowledged")


async def brings_again_what_was_not_taken(platform: Platform) -> None:
    """An error from the intake is not swallowed; the message is delivered again with the
    same key.
    """
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "before"):
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        intake.troubles = [StoreUnwritable("the disk is full")]
        await platform.say("once more")
        await soon(lambda: not intake.troubles, "a message is admitted")
    refused = [message for message in intake.offered if message.text == "once more"][:1]
    that(refused and len(intake.taken) == 1, "what the intake refused was not taken")
    async with opened(platform) as channel, running(platform, channel, intake):
        await platform.again()
        await intake.until(
            lambda: any(message.text == "once more" for message in intake.taken),
            "an unacknowledged message is delivered again",
        )
    again = next(message for message in intake.taken if message.text == "once more")
    keys = {(message.address.chat_id, message.dedupe_key) for message in (*refused, again)}
    that(len(keys) == 1, f"the same message has the same key: {keys}")


async def tells_messages_apart(platform: Platform) -> None:
    """Each message has a unique key, even if its text is the same."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "twice", "twice"):
        await intake.until(lambda: len(intake.taken) == 2, "both are admitted")
    first, second = intake.taken
    that(first.dedupe_key != second.dedupe_key, "two messages have two keys")


async def goes_on_after_what_it_cannot_read(platform: Platform) -> None:
    """Neither unknown nor malformed updates stop it."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake) as receiving:
        await platform.disturb()
        await platform.say("still there?")
        await intake.until(
            lambda: (
                receiving.over or any("still there?" in message.text for message in intake.taken)
            ),
            "after what cannot be read, messages are admitted as before",
        )
        that(not receiving.over, f"what cannot be read ended run: {receiving.failed}")


async def renders_whole_texts(platform: Platform) -> None:
    """Parts are within the limits, none is empty, no word is lost, and the function is pure."""
    async with opened(platform) as channel:
        for text in _TEXTS:
            message = OutboundMessage(address=Address("checked", "1"), text=text, key="k")
            parts = channel.render(message)
            that(parts, f"there is at least one part of {text[:20]!r}")
            that(all(part.text.strip() for part in parts), f"no part of {text[:20]!r} is empty")
            that(all(map(platform.fits, parts)), f"each part of {text[:20]!r} fits")
            that(parts == channel.render(message), f"{text[:20]!r} renders the same again")
        words = OutboundMessage(address=Address("checked", "1"), text=_WORDS, key="k")
        shown = "".join("".join(part.text.split()) for part in channel.render(words))
        that(shown == _WORDS.replace(" ", ""), "no word is lost, repeated or moved")
        question = OutboundMessage(
            address=Address("checked", "1"), text="May I?", key="k", choices=_CHOICES
        )
        whole = "".join(f"{part.text}{part.payload.decode()}" for part in channel.render(question))
        that(all(choice.say in whole for choice in _CHOICES), "choices are buttons, or written out")


async def sends_parts_in_order(platform: Platform) -> None:
    """Every part arrives, and has a unique id."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "tell me"):
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        chat = intake.taken[0].address
        message = OutboundMessage(address=chat, text=_WORDS, key="k")
        parts = [
            msgspec.structs.replace(part, key=f"k:{number}")  # like the host
            for number, part in enumerate(channel.render(message))
        ]
        sent = [await channel.send(chat, part) for part in parts]
        that(all(sent) and len(set(sent)) == len(parts), "send returns an id for each part")
        await soon(lambda: len(platform.shown()) == len(parts), "every part arrives")
        shown = "".join("".join(text.split()) for text in platform.shown())
        that(shown == _WORDS.replace(" ", ""), "the parts arrive in order")
        await channel.send(chat, OutboundPart(text="*plain*", key="p"), plain=True)
        await soon(lambda: "*plain*" in platform.shown()[-1], "plain text arrives unchanged")


async def fails_in_the_words_of_the_port(platform: Platform) -> None:
    """A send that fails raises a DeliveryError."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "hello"):
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        nowhere = platform.refuse(intake.taken[0].address)
        try:
            await channel.send(nowhere, OutboundPart(text="lost", key="k"))
        except DeliveryError:
            return
        raise AssertionError("a send that failed says so")


async def may_be_run_again(platform: Platform) -> None:
    """A run that was ended leaves nothing behind that disturbs the next one."""
    async with opened(platform) as channel:
        for text in ("the first time", "the second time"):
            await _received(platform, channel, text)


async def _received(platform: Platform, channel: Channel, text: str) -> None:
    intake = RecordingIntake()
    async with running(platform, channel, intake, text) as receiving:
        await intake.until(lambda: bool(intake.taken) or receiving.over, "each run receives")
        that(not receiving.over, f"run continues until it is cancelled: {receiving.failed}")


async def shows_drafts_that_are_no_messages(platform: Platform) -> None:
    """A draft leaves nothing behind, and the message that follows arrives like any other."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "tell me"):
        if not isinstance(channel, Drafting):
            return
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        chat = intake.taken[0].address
        before = len(platform.shown())
        that(channel.drafts(chat), "there are drafts until one is refused")
        await channel.draft(chat, "k", OutboundPart(text=""))
        parts = [
            channel.render(OutboundMessage(address=chat, text=text, key="k"))[0]
            for text in ("one", "one two", "done")
        ]
        for part in parts[:2]:
            await channel.draft(chat, "k", part)
        that(len(platform.shown()) == before, "drafts are not messages")
        await channel.send(chat, parts[-1])
        that(len(platform.shown()) == before + 1, "the message is there, once")


async def confides_only_among_several(platform: Platform) -> None:
    """A message for one person is an ordinary message if that person is alone with the bot."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "tell me"):
        if not isinstance(channel, Confiding):
            return
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        chat, person = intake.taken[0].address, intake.taken[0].sender.id
        that(not channel.confides(chat, person), "in a private chat, no one else reads")


async def grows_into_the_answer(platform: Platform) -> None:
    """A message that grows is a single message from its start, and ends with the text given to
    `edit`.
    """
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "tell me"):
        if not isinstance(channel, Streaming) or not isinstance(channel, Editing):
            return
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        message = intake.taken[0]
        chat = msgspec.structs.replace(message.address, thread_id=message.message_id)
        before = len(platform.shown())
        that(channel.streams(chat), "messages grow in threads until one is refused")
        first, whole = (
            channel.render(OutboundMessage(address=chat, text=text, key="k"))[0]
            for text in ("one", "one, two, three.")
        )
        grown = await channel.start(chat, first, [Step("one")], message.message_id)
        await channel.grow(chat, grown, [Step("one, two")])
        that(len(platform.shown()) == before + 1, "it is one message")
        for _ in range(2):  # the outcome of an edit may be unknown
            await channel.edit(chat, grown, whole)
            that(len(platform.shown()) == before + 1, "it stays one message")
            that("one, two, three." in platform.shown()[-1], "it is the answer in the end")


async def shows_files_together(platform: Platform) -> None:
    """An album is one message with an id, and a look-up can distinguish it from a single file."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "send them"):
        if not isinstance(channel, Albums):
            return
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        chat, contents = intake.taken[0].address, [b"first", b"the second"]
        files = [
            Attachment(kind="document", name=f"{number}.txt", size=len(content))
            for number, content in enumerate(contents)
        ]
        that(channel.together(files) == 2, "two small documents go together")
        most = channel.together(files * 50)
        that(2 <= most <= 100, "of many files some go together")
        that(channel.together(files * 50) == most, "together says the same again")
        album = OutboundPart(text="", key="k:0", file=files[0], others=(files[1],))
        that(await channel.send_album(chat, album, contents), "send_album returns an id")
        if not channel.capabilities.reconciles:
            return
        that(await _found(channel, chat, album), "an album that was sent is found")
        single = OutboundPart(text="", key="k:1", file=files[0])
        that(not await _found(channel, chat, single), "an album is not taken for a single file")


async def _found(channel: Channel, chat: Address, part: OutboundPart) -> bool:
    """Whether a look-up finds the part, or may find it."""
    try:
        return await channel.find(chat, part, 0.0) is not None
    except Uncertain:
        return True


async def deletes_its_messages(platform: Platform) -> None:
    """A deleted message is gone, and no other message is."""
    intake = RecordingIntake()
    async with opened(platform) as channel, running(platform, channel, intake, "hello"):
        if not isinstance(channel, Deleting):
            return
        await intake.until(lambda: bool(intake.taken), "a message is admitted")
        chat = intake.taken[0].address
        first, _ = [
            await channel.send(chat, OutboundPart(text=text, key=text)) for text in ("one", "two")
        ]
        await soon(lambda: len(platform.shown()) == 2, "both arrive")
        await channel.delete(chat, first)
        await soon(lambda: list(platform.shown()) == ["two"], "a deleted message is gone")
        with suppress(Refused):
            await channel.delete(chat, first)
        that(list(platform.shown()) == ["two"], "a second time deletes nothing else")


async def takes_only_requests_of_its_platform(platform: Platform) -> None:
    """An unsigned request is refused, and delivers nothing."""
    intake = RecordingIntake()
    async with opened(platform) as channel:
        if not isinstance(channel, Receiving):
            return
        for path in ("", "/", "/else/where"):
            for body in (b"", b"{}", b"[" * 5_000, b'{"text": "let me in"}', b"\xff"):
                asked = PlatformRequest(method="POST", path=path, body=body)
                reply = await channel.receive(asked, intake)
                that(400 <= reply.status < 500, f"an unsigned request is refused: {body[:20]!r}")
        that(not intake.offered, "nothing unsigned is admitted")


CHECKS: tuple[Check, ...] = (
    brings_what_was_said,
    acknowledges_only_what_was_admitted,
    brings_again_what_was_not_taken,
    tells_messages_apart,
    goes_on_after_what_it_cannot_read,
    renders_whole_texts,
    sends_parts_in_order,
    shows_drafts_that_are_no_messages,
    grows_into_the_answer,
    shows_files_together,
    deletes_its_messages,
    confides_only_among_several,
    takes_only_requests_of_its_platform,
    fails_in_the_words_of_the_port,
    may_be_run_again,
)
