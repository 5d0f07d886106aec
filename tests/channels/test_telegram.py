"""Telegram receives nothing twice, loses nothing, and says exactly what became of a message."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nanobot.bus.events import Address, OutboundMessage
from nanobot.errors import (
    BadCredentials,
    ChatGone,
    ConfigError,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreUnwritable,
)
from nanobot.ports import Channel, OutboundPart
from nanobot_channels._telegram_polling import Backoff
from nanobot_channels.telegram import TelegramChannel, open_channel
from tests.channels.conftest import Running
from tests.doubles.clock import ManualClock
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.telegram_server import TelegramServer

CHAT = Address("telegram", "1")
PART = OutboundPart(text="hello")


def texts(intake: FakeIntake) -> list[str]:
    return [message.text for message in intake.messages]


# Receiving.


async def test_an_update_is_acknowledged_only_after_it_was_admitted(
    telegram: TelegramServer, running: Running
) -> None:
    intake = FakeIntake()
    update = telegram.say(1, "hi")
    seen_at_commit: list[list[int]] = []
    intake.on_admit = lambda: seen_at_commit.append(telegram.pending)
    async with running(intake):
        await telegram.until(lambda: not telegram.pending)
    assert seen_at_commit == [[update["update_id"]]]
    assert intake.stored == str(update["update_id"] + 1)
    assert telegram.acknowledged == {update["update_id"]: update["update_id"] + 1}


async def test_a_failed_admission_ends_the_run_and_the_update_comes_again(
    telegram: TelegramServer, running: Running, channel: TelegramChannel
) -> None:
    intake = FakeIntake()
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
    intake = FakeIntake()
    async with running(intake):
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
    made = telegram.fail("getUpdates", times=3, **fault)
    telegram.say(1, "hi")
    intake = FakeIntake()
    async with running(intake):
        await intake.received(1)
    assert made.hits == 3
    assert len(clock.sleeps) == 3
    assert all(0 < delay <= 2 for delay in clock.sleeps)


async def test_polling_waits_as_long_as_flood_control_says(
    telegram: TelegramServer, running: Running, clock: ManualClock
) -> None:
    telegram.fail("getUpdates", times=1, status=429, retry_after=17)
    telegram.say(1, "hi")
    intake = FakeIntake()
    async with running(intake):
        await intake.received(1)
    assert clock.sleeps == [17]


async def test_polling_survives_a_server_that_is_not_there(clock: ManualClock) -> None:
    async with TelegramServer() as gone:
        root = gone.root_url
    channel = TelegramChannel("telegram", gone.token, root, clock=clock)
    task = asyncio.create_task(channel.run(FakeIntake()))
    while len(clock.sleeps) < 3:
        await asyncio.sleep(0)
    async with TelegramServer(port=int(root.rpartition(":")[2])) as back:
        back.say(1, "hi")
        await back.called("getUpdates")
        task.cancel()
        await asyncio.wait([task])
    await channel.close()


async def test_a_poll_that_hangs_is_cut_and_tried_again(telegram: TelegramServer) -> None:
    channel = TelegramChannel(
        "telegram", telegram.token, telegram.root_url, poll_seconds=-7.8, clock=ManualClock()
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
    intake = FakeIntake()
    async with running(intake):
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
    telegram: TelegramServer, running: Running
) -> None:
    intake = FakeIntake()
    telegram.say(1, "hi")
    telegram.fail("getUpdates", times=1, status=500)
    async with running(intake):
        await intake.until(lambda: intake.signs_of_life > 0)
    assert intake.signs_of_life == 1


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
    intake = FakeIntake()
    async with running(intake):
        await intake.received(1)
        await telegram.until(lambda: not telegram.pending)
    assert texts(intake) == ["hi"]


async def test_updates_without_a_number_neither_move_the_cursor_nor_spin(
    telegram: TelegramServer, running: Running, clock: ManualClock
) -> None:
    telegram.fail("getUpdates", times=2, body=b'{"ok": true, "result": [{"message": 1}, 5]}')
    telegram.say(1, "hi")
    intake = FakeIntake()
    async with running(intake):
        await intake.received(1)
    assert len(clock.sleeps) == 2
    assert intake.batches[0] == ([], None)


async def test_the_press_of_a_button_is_a_message_and_is_answered_after_its_commit(
    telegram: TelegramServer, running: Running, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    long_choice = "a choice that is longer than the sixty-four bytes that callback data may have"
    message = OutboundMessage(address=CHAT, text="Which?", key="k", choices=("yes", long_choice))
    await channel.send(CHAT, channel.render(message)[0])
    asked = await telegram.reply_in(1)
    telegram.press(asked, "yes")
    telegram.press(asked, long_choice)
    intake = FakeIntake()
    async with running(intake):
        await intake.received(3)
        await telegram.called("answerCallbackQuery", 2)
    presses = intake.messages[1:]
    assert [press.text for press in presses] == ["yes", long_choice]
    assert len({press.dedupe_key for press in presses}) == 2
    assert all(press.sender.id == "1" for press in presses)


async def test_who_the_bot_is_is_asked_once_and_before_the_first_group_message(
    telegram: TelegramServer, running: Running
) -> None:
    telegram.fail("getMe", times=1, status=500)
    intake = FakeIntake()
    async with running(intake):
        telegram.say(1, "private")
        await intake.received(1)
        assert not telegram.calls_of("getMe")
        telegram.say(-5, "@nano_bot one")
        await intake.received(2)
        telegram.say(-5, "@nano_bot two")
        await intake.received(3)
    assert texts(intake) == ["private", "one", "two"]
    assert len(telegram.calls_of("getMe")) == 2


# Waiting.


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


# Sending.


async def test_a_part_is_sent_with_its_entities_thread_and_reply(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(-5, "hi")
    address = Address("telegram", "-5", "7")
    message = OutboundMessage(
        address=address, text="😀 **bold** [site](https://x.org)", key="run.0", reply_to="101"
    )
    part = channel.render(message)[0]
    message_id = await channel.send(address, part)
    sent = await telegram.reply_in(-5)
    assert str(sent.message_id) == message_id
    assert sent.text == "😀 bold site"
    assert sent.entities == [
        {"type": "bold", "offset": 3, "length": 4},
        {"type": "text_link", "offset": 8, "length": 4, "url": "https://x.org"},
    ]
    assert sent.params["message_thread_id"] == "7"
    reply = {"message_id": 101, "allow_sending_without_reply": True}
    assert sent.params["reply_parameters"] == reply
    assert sent.params["link_preview_options"] == {"is_disabled": True}
    await channel.send(address, part, plain=True)
    plain = await telegram.reply_in(-5)
    assert plain.text == "😀 bold site (https://x.org)"
    assert plain.entities == []


FAULTS: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"status": 400, "description": "Bad Request: chat not found"}, ChatGone),
    ({"status": 400, "description": "Bad Request: not enough rights to send text"}, ChatGone),
    ({"status": 400, "description": "Bad Request: message thread not found"}, ChatGone),
    ({"status": 400, "description": "Bad Request: can't parse entities"}, Refused),
    ({"status": 413}, Refused),
    ({"status": 401, "description": "Unauthorized"}, NotSent),
    ({"status": 404, "description": "Not Found"}, NotSent),
    ({"status": 403, "description": "Forbidden: user is deactivated"}, ChatGone),
    ({"status": 429, "retry_after": 4}, NotSent),
    ({"status": 429}, NotSent),
    ({"status": 500}, NotSent),
    ({"status": 502, "body": b"<html>"}, NotSent),
    ({"status": 503, "body": b'["a list"]'}, NotSent),
    ({"status": 504, "body": b""}, NotSent),
    ({"drop": "before"}, OutcomeUnknown),
    ({"drop": "after"}, OutcomeUnknown),
    ({"body": b"not json"}, OutcomeUnknown),
    ({"body": b'{"ok": true}'}, OutcomeUnknown),
    ({"body": b'{"ok": true, "result": {}}'}, OutcomeUnknown),
    ({"body": b'{"ok": true, "result": 5}'}, OutcomeUnknown),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=str)
async def test_a_failed_send_tells_what_became_of_it(
    telegram: TelegramServer,
    channel: TelegramChannel,
    fault: dict[str, Any],
    expected: type[Exception],
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMessage", times=1, **fault)
    with pytest.raises(expected) as raised:
        await channel.send(CHAT, PART)
    assert type(raised.value) is expected
    assert telegram.token not in str(raised.value)
    applied = "body" in fault and "status" not in fault
    assert bool(telegram.messages(1)) == (applied or fault.get("drop") == "after")
    await channel.send(CHAT, PART)


async def test_flood_control_says_when_to_try_again(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMessage", status=429, retry_after=4)
    with pytest.raises(NotSent) as raised:
        await channel.send(CHAT, PART)
    assert raised.value.retry_after == 4


async def test_a_refused_connection_means_not_sent(clock: ManualClock) -> None:
    async with TelegramServer() as gone:
        pass
    channel = TelegramChannel("telegram", gone.token, gone.root_url, clock=clock)
    with pytest.raises(NotSent):
        await channel.send(CHAT, PART)
    await channel.close()


async def test_an_unknown_and_a_blocked_chat_are_gone(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    with pytest.raises(ChatGone):
        await channel.send(CHAT, PART)
    telegram.say(1, "hi")
    telegram.block(1)
    with pytest.raises(ChatGone):
        await channel.send(CHAT, PART)
    with pytest.raises(ChatGone):
        await channel.typing(CHAT)


async def test_an_edit_replaces_the_message_and_an_equal_one_is_no_error(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    message_id = await channel.send(CHAT, PART)
    for _ in range(2):
        await channel.edit(CHAT, message_id, OutboundPart(text="hello again"))
    sent = await telegram.reply_in(1)
    assert (sent.text, sent.history) == ("hello again", ["hello"])
    with pytest.raises(Refused):
        await channel.edit(CHAT, "999", PART)


async def test_typing_is_shown_and_nothing_is_found(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    await channel.typing(CHAT)
    assert telegram.calls_of("sendChatAction")[0].params == {"chat_id": "1", "action": "typing"}
    assert await channel.find(CHAT, PART) is None
    assert not channel.capabilities.reconciles


async def test_sixty_four_sends_go_out_side_by_side(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMessage", delay=0.2)
    async with asyncio.TaskGroup() as sends:
        for _ in range(64):
            sends.create_task(channel.send(CHAT, PART))
        await telegram.called("sendMessage", 64)
        assert not telegram.messages(1)
    assert len(telegram.messages(1)) == 64


# Settings.


async def test_settings_make_a_channel(telegram: TelegramServer) -> None:
    channel: Channel = open_channel(
        "work", {"token": f" {telegram.token}\n", "api_root": f"{telegram.root_url}/"}
    )
    telegram.say(1, "hi")
    assert await channel.send(CHAT, PART)
    await channel.close()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, r"channels\.work\.token is missing.*@BotFather"),
        ({"token": ""}, r"channels\.work\.token is missing"),
        ({"token": 5}, r"channels\.work\.token is not"),
        ({"token": "a b"}, r"channels\.work\.token is not"),
        ({"token": "1:a", "api_root": "localhost"}, r"channels\.work\.api_root"),
        ({"token": "1:a", "api_root": None}, r"channels\.work\.api_root"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_name_the_key_and_the_remedy(
    settings: dict[str, object], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        open_channel("work", settings)
