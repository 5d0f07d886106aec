"""Telegram's updates arrive, none is acknowledged before its commit, and outages pass."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from loguru import logger

from nanobot.errors import BadCredentials, StoreUnwritable
from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.testing.machine import ManualClock
from nanobot_channels.telegram import TelegramChannel
from nanobot_channels.telegram.polling import Backoff
from tests.channels.conftest import Running
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.telegram_server import TelegramServer

CHAT = Address("telegram", "1")


def texts(intake: FakeIntake) -> list[str]:
    return [message.text for message in intake.messages]


async def test_an_update_is_acknowledged_only_after_it_was_admitted(
    telegram: TelegramServer, running: Running, intake: FakeIntake
) -> None:
    update = telegram.say(1, "hi")
    seen_at_commit: list[list[int]] = []
    intake.on_admit = lambda: seen_at_commit.append(telegram.pending)
    async with running(intake):
        await telegram.until(lambda: not telegram.pending)
    assert seen_at_commit == [[update["update_id"]]]
    assert intake.stored == str(update["update_id"] + 1)
    assert telegram.acknowledged == {update["update_id"]: update["update_id"] + 1}


async def test_a_failed_admission_ends_the_run_and_the_update_comes_again(
    telegram: TelegramServer, running: Running, channel: TelegramChannel, intake: FakeIntake
) -> None:
    intake.failures.append(StoreUnwritable("disk full"))
    telegram.say(1, "hi")
    with pytest.raises(StoreUnwritable):
        await channel.run(intake)
    assert len(telegram.pending) == 1
    async with running(intake):
        assert [m.text for m in await intake.received(1)] == ["hi"]
    assert intake.attempts == 2


async def test_a_new_process_goes_on_from_the_stored_cursor(
    telegram: TelegramServer, running: Running
) -> None:
    first = telegram.say(1, "before")
    telegram.say(1, "after")
    intake = FakeIntake(cursor=str(first["update_id"] + 1))
    async with running(intake):
        await intake.received(1)
    assert texts(intake) == ["after"]


async def test_a_stored_cursor_that_is_no_offset_is_not_fatal(
    telegram: TelegramServer, running: Running
) -> None:
    telegram.say(1, "hi")
    intake = FakeIntake(cursor="nonsense")
    async with running(intake):
        await intake.received(1)
    assert "offset" not in telegram.calls_of("getUpdates")[0].params


async def test_what_waited_is_admitted_in_order_and_in_one_batch(
    telegram: TelegramServer, running: Running
) -> None:
    for text in ("one", "two", "three"):
        telegram.say(1, text)
    async with running() as intake:
        await intake.received(3)
    assert texts(intake) == ["one", "two", "three"]
    assert len(intake.batches) == 1


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 409, "description": "Conflict: terminated by other getUpdates request"},
        {"status": 500},
        {"status": 502, "body": b"<html>Bad Gateway</html>"},
        {"status": 400},
        {"drop": "before"},
        {"drop": "after"},
        {"body": b"not json"},
        {"body": b'{"ok": true}'},
        {"body": b'{"ok": true, "result": 7}'},
        {"status": 503, "body": b'["a list"]'},
    ],
    ids=str,
)
async def test_polling_survives(
    telegram: TelegramServer, running: Running, clock: ManualClock, fault: dict[str, Any]
) -> None:
    failure = telegram.fail("getUpdates", times=3, **fault)
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
    assert failure.hits == 3
    assert len(clock.sleeps) == 3
    assert all(0 < delay <= 2 for delay in clock.sleeps)


async def test_polling_waits_as_long_as_flood_control_says(
    telegram: TelegramServer, running: Running, clock: ManualClock
) -> None:
    telegram.fail("getUpdates", times=1, status=429, retry_after=17)
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
    assert clock.sleeps == [17]


class CountingClock(ManualClock):
    """Tells when the third sleep ends."""

    def __init__(self) -> None:
        super().__init__()
        self.third = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if len(self.sleeps) == 3:
            self.third.set()


async def test_polling_survives_a_server_that_is_not_there() -> None:
    async with TelegramServer() as stopped:
        root = stopped.root_url
    clock = CountingClock()
    channel = TelegramChannel("telegram", stopped.token, root, clock=clock)
    intake = FakeIntake()
    task = asyncio.create_task(channel.run(intake))
    await clock.third.wait()
    async with TelegramServer(port=int(root.rpartition(":")[2])) as back:
        back.say(1, "hi")
        await intake.received(1)
        task.cancel()
        await asyncio.wait([task])
    await channel.close()


@pytest.mark.process
async def test_a_poll_that_hangs_is_cut_and_tried_again(telegram: TelegramServer) -> None:
    channel = TelegramChannel(
        "telegram", telegram.token, telegram.root_url, poll_seconds=1, clock=ManualClock()
    )
    hanging = telegram.fail("getUpdates", times=1, delay=3600)
    telegram.say(1, "hi")
    intake = FakeIntake()
    task = asyncio.create_task(channel.run(intake))
    await intake.received(1)
    task.cancel()
    await asyncio.wait([task])
    await channel.close()
    assert hanging.hits == 1


async def test_a_webhook_set_earlier_is_removed_and_its_updates_kept(
    telegram: TelegramServer, running: Running
) -> None:
    telegram.webhook = True
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
    assert telegram.calls_of("deleteWebhook")[0].params["drop_pending_updates"] == "false"


@pytest.mark.parametrize("status", [401, 404])
async def test_a_refused_token_is_final_and_says_what_to_do(
    telegram: TelegramServer, channel: TelegramChannel, status: int
) -> None:
    telegram.fail("getUpdates", status=status)
    with pytest.raises(BadCredentials, match="@BotFather"):
        await channel.run(FakeIntake())


async def test_every_answered_poll_is_a_sign_of_life(
    telegram: TelegramServer, running: Running, intake: FakeIntake
) -> None:
    telegram.say(1, "hi")
    telegram.fail("getUpdates", times=1, status=500)
    async with running(intake):
        await intake.until(lambda: intake.signs_of_life > 0)
    assert intake.signs_of_life == 1


async def test_a_quiet_bot_is_known_to_be_up_before_its_first_long_poll(
    telegram: TelegramServer, running: Running, intake: FakeIntake
) -> None:
    async with running(intake):
        polls = await telegram.called("getUpdates", 2)
    assert [poll.params["timeout"] for poll in polls] == ["0", "30"]
    assert intake.signs_of_life == 1


async def test_polling_goes_on_while_every_connection_for_sends_is_taken(
    telegram: TelegramServer, running: Running, channel: TelegramChannel
) -> None:
    telegram.fail("sendMessage", delay=3600)
    async with asyncio.TaskGroup() as sends:
        tasks = [sends.create_task(channel.send(CHAT, OutboundPart(text="x"))) for _ in range(130)]
        await telegram.called("sendMessage", 128)
        telegram.say(1, "hi")
        async with running() as intake:
            await intake.received(1)
        for task in tasks:
            task.cancel()
    assert len(telegram.calls_of("sendMessage")) == 128


@pytest.mark.parametrize(
    "fields",
    [
        {"message": {"message_id": 1}},
        {"message": "text"},
        {"message": {"message_id": "x", "chat": {"id": 1}, "text": "hi"}},
        {"message": {"message_id": 1, "chat": None, "text": "hi"}},
        {"message": None},
        {"poll_answer": {"poll_id": "1"}},
        {"something_new": {"a": [1]}},
        {"callback_query": {"id": "1"}},
        {"callback_query": {"id": "1", "from": {"id": 1}, "inline_message_id": "2"}},
        {},
    ],
    ids=str,
)
async def test_an_update_nobody_can_read_is_skipped_and_the_next_one_read(
    telegram: TelegramServer, running: Running, fields: dict[str, Any]
) -> None:
    telegram.push(**fields)
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
        await telegram.until(lambda: not telegram.pending)
    assert texts(intake) == ["hi"]


async def test_what_is_skipped_is_counted_and_named(
    telegram: TelegramServer, running: Running
) -> None:
    lines: list[str] = []
    sink = logger.add(lines.append, level="WARNING")
    skipped = [telegram.push(message={"message_id": "x"})["update_id"] for _ in range(2)]
    telegram.push(message={"message_id": 1, "chat": {"id": 1}, "new_chat_title": "x"})
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
    logger.remove(sink)
    reports = [line for line in lines if "skipped" in line]
    assert [str(number) in line for number, line in zip(skipped, reports, strict=True)] == [
        True
    ] * 2
    assert "(2 so far)" in reports[1]


async def test_a_second_process_with_the_same_token_is_named_in_the_log(
    telegram: TelegramServer, running: Running
) -> None:
    lines: list[str] = []
    sink = logger.add(lines.append, level="WARNING")
    conflict = "Conflict: terminated by other getUpdates request"
    telegram.fail("getUpdates", times=1, status=409, description=conflict)
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
    logger.remove(sink)
    assert any("stop the other one" in line for line in lines)


async def test_a_conflict_that_lasts_is_said_once_and_asked_about_ever_more_seldom(
    telegram: TelegramServer, running: Running, clock: ManualClock
) -> None:
    lines: list[str] = []
    sink = logger.add(lines.append, level="INFO", format="{level} {message}")
    conflict = "Conflict: terminated by other getUpdates request"
    telegram.fail("getUpdates", times=7, status=409, description=conflict)
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
    logger.remove(sink)
    assert len([line for line in lines if "stop the other one" in line]) == 1
    assert [line for line in lines if "updates come again" in line]
    assert [round(seconds) for seconds in clock.sleeps[:7]] == [1, 1, 2, 3, 4, 6, 10]


async def test_updates_without_a_number_neither_move_the_cursor_nor_spin(
    telegram: TelegramServer, running: Running, clock: ManualClock
) -> None:
    telegram.fail("getUpdates", times=2, body=b'{"ok": true, "result": [{"message": 1}, 5]}')
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
    assert len(clock.sleeps) == 2
    assert intake.batches[0] == ([], None)


async def test_the_press_of_a_button_is_a_message_and_is_answered_after_its_commit(
    telegram: TelegramServer, running: Running, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    choices = (Choice("Yes, do it", "/approve 7"), Choice("No", "/deny 7"))
    message = OutboundMessage(address=CHAT, text="Which?", key="k", choices=choices)
    await channel.send(CHAT, channel.render(message)[0])
    question = await telegram.reply_in(1)
    telegram.press(question, "Yes, do it")
    telegram.press(question, "No")
    async with running() as intake:
        await intake.received(3)
        await telegram.called("answerCallbackQuery", 2)
    presses = intake.messages[1:]
    assert [press.text for press in presses] == ["/approve 7", "/deny 7"]
    assert len({press.dedupe_key for press in presses}) == 2
    assert all(press.sender.id == "1" for press in presses)


async def test_a_press_below_a_message_too_old_to_be_shown_still_counts(
    telegram: TelegramServer, running: Running, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    message = OutboundMessage(address=CHAT, text="?", key="k", choices=(Choice("Yes", "/yes"),))
    await channel.send(CHAT, channel.render(message)[0])
    telegram.press(await telegram.reply_in(1), "Yes", old=True)
    async with running() as intake:
        await intake.received(2)
    press = intake.messages[1]
    assert (press.text, press.pressed, str(press.address)) == ("/yes", True, "telegram:1")


async def test_the_spinner_of_a_press_that_was_not_committed_goes_on(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    message = OutboundMessage(address=CHAT, text="?", key="k", choices=(Choice("Yes", "/yes"),))
    await channel.send(CHAT, channel.render(message)[0])
    telegram.press(await telegram.reply_in(1), "Yes")
    intake = FakeIntake()
    intake.failures.append(StoreUnwritable("disk full"))
    with pytest.raises(StoreUnwritable):
        await channel.run(intake)
    assert not telegram.calls_of("answerCallbackQuery")


async def test_an_album_whose_caption_means_the_bot_is_for_it_as_a_whole(
    telegram: TelegramServer, running: Running, intake: FakeIntake
) -> None:
    async with running(intake):
        telegram.album(-5, ["A", "B"], "@nano_bot which one?")
        await intake.received(2)
        telegram.album(-5, ["C", "D"], "look")
        await intake.received(4)
    first, second, *others = intake.messages
    assert (first.text, first.addressed) == ("which one?", True)
    assert (second.text, second.addressed) == ("", True)
    assert first.group_id == second.group_id
    assert [item.ref for item in (*first.attachments, *second.attachments)] == ["A", "B"]
    assert [message.addressed for message in others] == [False, False]


async def test_the_rest_of_an_album_that_comes_with_a_later_poll_is_for_the_bot_too(
    telegram: TelegramServer, running: Running, intake: FakeIntake
) -> None:
    both = telegram.album(-5, ["A", "B"], "@nano_bot which one?")
    late = both[1]
    telegram.withdraw(late)
    async with running(intake):
        await intake.received(1)
        telegram.push(**late)
        await intake.received(2)
    assert [message.addressed for message in intake.messages] == [True, True]


async def test_a_text_with_half_a_character_does_not_stop_the_others(
    telegram: TelegramServer, running: Running
) -> None:
    telegram.say(1, "half \ud83d")
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(2)
    assert texts(intake) == ["half \ufffd", "hi"]


async def test_who_the_bot_is_is_asked_once_and_before_the_first_group_message(
    telegram: TelegramServer, running: Running
) -> None:
    telegram.fail("getMe", times=1, status=500)
    async with running() as intake:
        telegram.say(1, "private")
        await intake.received(1)
        assert not telegram.calls_of("getMe")
        telegram.say(-5, "@nano_bot one")
        await intake.received(2)
        telegram.say(-5, "@nano_bot two")
        await intake.received(3)
    assert texts(intake) == ["private", "one", "two"]
    assert len(telegram.calls_of("getMe")) == 2


def test_backoff_stays_short_for_a_minute_then_grows_and_starts_anew_after_success() -> None:
    clock = ManualClock()
    backoff = Backoff(clock)
    early = [backoff.delay() for _ in range(5)]
    assert 0.25 < early[0] <= 0.5
    assert all(delay <= 2 for delay in early)
    clock.advance(61)
    late = [backoff.delay() for _ in range(8)]
    assert 20 < late[-1] <= 30
    backoff.reset()
    assert backoff.delay() <= 0.5


async def test_a_group_that_becomes_a_supergroup_is_told_before_what_is_said_there(
    telegram: TelegramServer, running: Running, intake: FakeIntake
) -> None:
    moves_at_commit: list[int] = []
    intake.on_admit = lambda: moves_at_commit.append(len(intake.moves))
    telegram.say(-5, "", migrate_to_chat_id=-1005)
    telegram.say(-1005, "", migrate_from_chat_id=-5)
    telegram.say(-1005, "here now")
    async with running(intake):
        assert [m.text for m in await intake.received(1)] == ["here now"]
    assert set(intake.moves) == {("-5", "-1005")}
    assert moves_at_commit[0] > 0
