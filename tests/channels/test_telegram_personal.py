"""What one person of a Telegram group sees alone, and what all see where that cannot be."""

from __future__ import annotations

import pytest

from nanobot.errors import OutcomeUnknown, Refused
from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.testing.machine import ManualClock
from nanobot_channels.telegram import TelegramChannel
from tests.channels.conftest import Running
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.telegram_ephemeral import EphemeralMessage
from tests.doubles.telegram_server import TelegramServer

GROUP = Address("telegram", "-5")
ANN, BOB = "77", "78"
REFUSED = OutboundPart(text="/pair is for owners.", key="k")


def question(channel: TelegramChannel, text: str = "May I?") -> OutboundPart:
    choices = (Choice("Approve", "/approve 1"), Choice("Deny", "/deny 1"))
    message = OutboundMessage(address=GROUP, text=text, key="q", choices=choices)
    return channel.render(message)[0]


async def spoke(telegram: TelegramServer, running: Running, *who: str) -> None:
    """They say something in the group."""
    async with running() as intake:
        for person in who:
            telegram.say(-5, "/status@nano_bot", sender=int(person))
        await intake.received(len(who))


async def told(channel: TelegramChannel, person: str, part: OutboundPart = REFUSED) -> str | None:
    """As the host tells it; None: to all."""
    if not channel.confides(GROUP, person):
        return None
    try:
        return await channel.confide(GROUP, person, part)
    except Refused:
        return None


async def test_who_is_there_is_told_alone_and_sees_it_change(
    telegram: TelegramServer, channel: TelegramChannel, running: Running
) -> None:
    telegram.ephemeral.administered.add(-5)
    await spoke(telegram, running, ANN)
    receipt = await told(channel, ANN, question(channel))
    assert receipt is not None
    await channel.edit(GROUP, receipt, OutboundPart(text="May I? Approved by Ann", key="q2"))
    (message,) = telegram.ephemeral.messages
    assert (message.receiver, message.history) == (77, ["May I?"])
    assert message.text == "May I? Approved by Ann"
    assert message.params["reply_markup"] == {"inline_keyboard": []}
    assert telegram.messages(-5) == []


async def test_only_people_of_groups_who_spoke_lately_are_told_alone(
    telegram: TelegramServer, channel: TelegramChannel, running: Running, clock: ManualClock
) -> None:
    await spoke(telegram, running, ANN)
    assert channel.confides(GROUP, ANN)
    assert not channel.confides(GROUP, BOB)
    assert not channel.confides(Address("telegram", ANN), ANN)
    assert not channel.confides(GROUP, "-1001")  # who speaks as a chat
    clock.advance(301)
    assert not channel.confides(GROUP, ANN)


async def test_a_group_that_refuses_costs_one_try(
    telegram: TelegramServer, channel: TelegramChannel, running: Running
) -> None:
    await spoke(telegram, running, ANN, BOB)
    assert await told(channel, ANN) is None
    assert not channel.confides(GROUP, ANN)
    assert not channel.confides(GROUP, BOB)
    tries = [call for call in telegram.calls if "ephemeral_message_parameters" in call.params]
    assert len(tries) == 1


async def test_an_older_server_is_never_given_what_it_would_show_to_all(
    telegram: TelegramServer, channel: TelegramChannel, running: Running
) -> None:
    telegram.native.off = True
    await spoke(telegram, running, ANN)
    assert await told(channel, ANN) is None
    assert not channel.confides(GROUP, ANN)
    assert telegram.messages(-5) == []
    assert telegram.calls_of("sendMessage") == []


async def pressed(telegram: TelegramServer, channel: TelegramChannel, intake: FakeIntake) -> None:
    """Bob presses a button below a question to all."""
    telegram.say(-5, "hi")
    await channel.send(GROUP, question(channel))
    telegram.press(telegram.messages(-5)[0], "Deny", sender=int(BOB))
    await intake.until(lambda: any(message.pressed for message in intake.messages))


async def test_a_refused_press_is_answered_over_the_button(
    telegram: TelegramServer, channel: TelegramChannel, running: Running, intake: FakeIntake
) -> None:
    async with running(intake):
        await pressed(telegram, channel, intake)
        receipt = await told(channel, BOB)
        assert receipt is not None
        assert telegram.ephemeral.alerts == [(78, REFUSED.text)]
        with pytest.raises(Refused):
            await channel.edit(GROUP, receipt, REFUSED)
    assert len(telegram.calls_of("answerCallbackQuery")) == 1


async def test_what_is_too_long_for_that_is_an_ephemeral_message_that_the_press_allows(
    telegram: TelegramServer, channel: TelegramChannel, running: Running
) -> None:
    intake, long = FakeIntake(), OutboundPart(text="no " * 100, key="k")
    async with running(intake):
        await pressed(telegram, channel, intake)
        assert await told(channel, BOB, long)
        await telegram.called("answerCallbackQuery")
        assert await told(channel, BOB)  # the spinner is gone already
    assert telegram.ephemeral.seen_by(78) == [long.text, REFUSED.text]
    assert telegram.ephemeral.alerts == []


async def test_a_press_that_nothing_is_said_about_is_answered_without_words(
    telegram: TelegramServer, channel: TelegramChannel, running: Running, clock: ManualClock
) -> None:
    async with running() as intake:
        await pressed(telegram, channel, intake)
        await telegram.called("answerCallbackQuery")
        clock.advance(14)
        assert await told(channel, BOB) is None  # too late for Telegram, and we administer nothing
    assert telegram.ephemeral.alerts == []


async def test_many_presses_at_once_hold_up_no_poll(
    telegram: TelegramServer, channel: TelegramChannel, running: Running, intake: FakeIntake
) -> None:
    """Each is given a moment for the refusal that may follow from it. The first five seconds of a
    server that does not answer are those of all: one after another they would take two minutes."""
    telegram.say(-5, "hi")
    await channel.send(GROUP, question(channel))
    telegram.fail("answerCallbackQuery", drop="never")
    for person in range(100, 125):
        telegram.press(telegram.messages(-5)[0], "Deny", sender=person)
    async with running(intake):
        await telegram.called("answerCallbackQuery", 25)


async def test_an_unknown_outcome_is_told_as_such(
    telegram: TelegramServer, channel: TelegramChannel, running: Running
) -> None:
    telegram.ephemeral.administered.add(-5)
    await spoke(telegram, running, ANN)
    telegram.fail("sendMessage", times=1, drop="after")
    with pytest.raises(OutcomeUnknown):
        await told(channel, ANN)


async def test_what_comes_ephemerally_is_unseen_and_told_apart(
    telegram: TelegramServer, channel: TelegramChannel, running: Running
) -> None:
    telegram.ephemeral.administered.add(-5)
    async with running() as intake:
        for number in (1, 2, 2):
            telegram.say(-5, "/status", sender=77, message_id=0, ephemeral_message_id=number)
        first, second, again = await intake.received(3)
        assert first.unseen
        assert first.addressed
        assert [m.dedupe_key for m in (first, second, again)] == ["e1", "e2", "e2"]
        message = OutboundMessage(address=GROUP, text="well", key="k", reply_to=first.message_id)
        await told(channel, ANN, channel.render(message)[0])
        (call,) = telegram.calls_of("sendMessage")
        assert call.params["reply_parameters"]["ephemeral_message_id"] == 1
        await channel.send(GROUP, channel.render(message)[0])
        assert "reply_parameters" not in telegram.calls_of("sendMessage")[-1].params
        await told(channel, ANN, question(channel))
        ephemeral = telegram.ephemeral.messages[-1]
        assert isinstance(ephemeral, EphemeralMessage)
        telegram.press(ephemeral, "Approve", sender=77)
        press = (await intake.received(4))[3]
        assert (press.text, press.reply_to) == ("/approve 1", f"e{ephemeral.message_id}")
