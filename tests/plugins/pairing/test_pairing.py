"""Pairing from end to end over fakes: a stranger, a code, an owner, and then an answer."""

from __future__ import annotations

import re

import msgspec
import pytest

from nanobot.messages import Address, Attachment, InboundMessage, Role, Sender
from nanobot.plugins.pairing.pairing import REPEAT_SECONDS, VALID_SECONDS
from nanobot.store.database import schema
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.platform import MEMBER, OWNER
from tests.channels.seeing import clock_of
from tests.channels.test_confiding import EVERYBODY, GROUP, DiscreetPlatform, say
from tests.plugins.pairing.paired import PAIRED, pairing

EVE = "666"
HERS = "chat of eve"


async def code_for(bot: FakeGateway, sender: str = EVE, text: str = "let me in") -> str:
    """Somebody writes in a chat of their own and is told a code."""
    await bot.channel.push(text, sender=sender, chat=f"{HERS}{sender}")
    message = await bot.channel.pop(f"{HERS}{sender}")
    match = re.search(
        r"This assistant is private. Your pairing code is (\S+) \(valid", message.text
    )
    assert match, message.text
    return match[1]


async def order(bot: FakeGateway, text: str, sender: str = OWNER) -> str:
    """An owner gives an order in their chat."""
    await bot.channel.push(text, sender=sender)
    return (await bot.channel.pop("1")).text


async def test_a_stranger_who_shows_the_code_is_let_in_and_told_so(bot: FakeGateway) -> None:
    code = await code_for(bot)
    assert re.fullmatch(r"[A-HJKMNP-Z2-9]{4}-[A-HJKMNP-Z2-9]{4}", code)
    assert await order(bot, f"/pair approve {code.lower()}") == (
        "name of 666 (fake:666) now has access as member and gets a message."
    )
    assert (await bot.channel.pop(HERS + EVE)).text.startswith("You are in.")
    await bot.channel.push("hello", sender=EVE, chat=HERS + EVE)
    assert (await bot.channel.pop(HERS + EVE)).text == "echo: hello"
    await bot.channel.push("/pair", sender=EVE, chat=HERS + EVE)
    assert (await bot.channel.pop(HERS + EVE)).text == "/pair list is for owners."


async def test_nothing_of_a_strangers_message_is_kept_but_who_it_was(bot: FakeGateway) -> None:
    photo = Attachment("image", ref="secret-photo")
    await bot.channel.push("secret-text", sender=EVE, attachments=(photo,), quote="secret-quote")
    await bot.channel.pop()
    rows = bot.home.do(lambda c: c.execute(schema.inbound.select()).all())
    (kept,) = [msgspec.json.decode(row.body, type=InboundMessage) for row in rows]
    assert kept.sender.id == EVE
    assert "secret" not in str([tuple(row) for row in rows])
    assert bot.provider.requests == []


async def test_a_stranger_who_goes_on_is_told_again_after_a_while_with_the_time_left() -> None:
    async with gateway(options=PAIRED) as bot:
        first = await code_for(bot)
        for _ in range(3):
            await bot.channel.push("hello?", sender=EVE, chat=HERS + EVE)
        await bot.settle()
        assert len(bot.channel.sent) == 1
        clock_of(bot).advance(REPEAT_SECONDS)
        assert await code_for(bot) == first
        assert "(valid for 55 min)" in bot.channel.sent[-1].text
        clock_of(bot).advance(VALID_SECONDS)
        assert await code_for(bot) != first


async def test_a_flood_of_strangers_shuts_nobody_out(bot: FakeGateway) -> None:
    before = await code_for(bot)
    for number in range(40):
        await code_for(bot, f"s{number}")
    assert "now has access as member" in await order(bot, f"/pair approve {before}")
    assert await code_for(bot, "late")


async def test_an_owner_lets_in_who_never_asked(bot: FakeGateway) -> None:
    assert (
        await order(bot, "/pair approve fake:666 role=guest") == "fake:666 now has access as guest."
    )
    await bot.channel.push("hello", sender=EVE, chat=HERS + EVE)
    assert "pairing code" not in (await bot.channel.pop(HERS + EVE)).text
    assert "not a connected channel" in await order(bot, "/pair approve other:666")


async def test_whoever_is_revoked_is_a_stranger_at_once(bot: FakeGateway) -> None:
    code = await code_for(bot)
    await order(bot, f"/pair approve {code} role=owner")
    await bot.channel.pop(HERS + EVE)
    await bot.channel.push("/pair", sender=EVE, chat=HERS + EVE)
    assert "fake:666" in (await bot.channel.pop(HERS + EVE)).text
    assert await order(bot, "/pair revoke fake:666") == (
        "name of 666 (fake:666) no longer has access."
    )
    assert await code_for(bot, text="hello") != code
    assert bot.provider.requests == []


async def test_guests_talk_and_end_talks_and_do_nothing_else(bot: FakeGateway) -> None:
    code = await code_for(bot)
    await order(bot, f"/pair approve {code} role=guest")
    await bot.channel.pop(HERS + EVE)
    for text, answer in (
        ("hello", "echo: hello"),
        ("/stop", "Nothing of yours was running here"),
        ("/new", "New conversation."),
        ("/status", "/status is for members and owners."),
        ("/runs", "/runs list is for members and owners."),
    ):
        await bot.channel.push(text, sender=EVE, chat=HERS + EVE)
        assert (await bot.channel.pop(HERS + EVE)).text.startswith(answer)
    await bot.channel.push("/help", sender=EVE, chat=HERS + EVE)
    assert re.findall(r"`/(\w+)", (await bot.channel.pop(HERS + EVE)).text) == [
        "new",
        "stop",
        "help",
        "sessions",
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/pair approve", "pair approve: `code` is missing"),
        ("/pair approve nonsens!", "is not a pairing code"),
        ("/pair approve ABCD-EFGH", "No one was given the code ABCD-EFGH"),
        (
            "/pair approve ABCD-EFGH role=king",
            "`role` must be one of owner, member, guest, not 'king'",
        ),
        ("/pair revoke nobody", "No one called nobody has access by pairing"),
        (
            "/pair",
            "Nothing found. People who write to the assistant for the first time appear here.",
        ),
    ],
)
async def test_what_cannot_be_done_is_said(text: str, answer: str) -> None:
    async with gateway(options=PAIRED) as bot:
        assert answer in await order(bot, text)


async def test_members_let_nobody_in(bot: FakeGateway) -> None:
    code = await code_for(bot)
    assert await order(bot, f"/pair approve {code}", MEMBER) == "/pair approve is for owners."


async def test_a_program_sees_who_asks_and_lets_them_in(bot: FakeGateway) -> None:
    code = await code_for(bot)
    desk = bot.operations
    (asked,) = await desk.call("pair list", {"state": "asked"})
    assert (asked.who, asked.code) == ("fake:666", code)
    await desk.call("pair approve", {"code": code, "role": "guest"})
    assert (await bot.channel.pop(HERS + EVE)).text.startswith("You are in.")
    (asked,) = await desk.call("pair list", {})
    assert (asked.state, asked.role, asked.decided_by) == ("approved", "guest", "local")


async def test_without_pairing_even_the_paired_are_not_heard(bot: FakeGateway) -> None:
    code = await code_for(bot)
    await order(bot, f"/pair approve {code}")
    home = bot.home
    await bot.settle()
    async with gateway(home=home, options=Options()) as strict:
        await strict.channel.push("hello", sender=EVE)
        assert "Your id here is `666`" in (await strict.channel.pop("1")).text


async def test_a_name_that_would_trip_the_store_or_a_terminal_is_cleaned(bot: FakeGateway) -> None:
    message = await bot.channel.push("hello")
    evil = Sender(EVE, "\x1b[2Jev\ud83dil")
    await bot.intake.admit([msgspec.structs.replace(message, sender=evil, dedupe_key="evil")])
    (asked,) = await bot.operations.call("pair list", {})
    assert asked.name == "[2Jevil"


async def test_whoever_is_paired_is_heard_in_groups_too(bot: FakeGateway) -> None:
    code = await code_for(bot)
    await order(bot, f"/pair approve {code}")
    await bot.channel.push("hello", sender=EVE, chat="-100", group=True, addressed=True)
    assert (await bot.channel.pop("-100")).text == "echo: hello"


async def test_a_stranger_in_a_group_gets_a_code_that_nobody_else_sees_or_none() -> None:
    platform = DiscreetPlatform()
    async with gateway(channel=platform, options=PAIRED) as bot:
        await say(bot, "just talking", EVE, addressed=False)
        assert platform.sent == []
        await say(bot, "bot, let me in", EVE)
        ((person, words),) = platform.seen()
        assert (person, words) == (EVE, "This assistant is private")
        code = platform.sent[0].text.split("code is ")[1].split()[0]
        await pairing(bot).approve(code, Role.MEMBER, "me")
        bot.bus.owed(Address("fake", GROUP))
        await bot.settle()
        assert platform.seen()[-1][0] == EVE
        await say(bot, "hello", EVE)
        assert platform.seen()[-1][0] == EVERYBODY
