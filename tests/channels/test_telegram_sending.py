"""Telegram says exactly what became of a message."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import (
    ChatGone,
    ChatMoved,
    ConfigError,
    NotSent,
    OutcomeUnknown,
    Refused,
    ThreadGone,
)
from nanobot.messages import Address, Attachment, Choice, OutboundMessage
from nanobot.ports import Channel, OutboundPart
from nanobot.testing.machine import ManualClock
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.telegram import TelegramChannel, open_channel
from nanobot_channels.telegram.parts import Piece, payload_of, plain_pieces
from nanobot_channels.telegram.parts import render as render_message
from tests.channels.hostile import texts
from tests.doubles.telegram_rules import check_text
from tests.doubles.telegram_server import TelegramServer

CHAT = Address("telegram", "1")
PART = OutboundPart(text="hello")


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
    received = await telegram.reply_in(-5)
    assert str(received.message_id) == message_id
    assert received.text == "😀 bold site"
    assert received.entities == [
        {"type": "bold", "offset": 3, "length": 4},
        {"type": "text_link", "offset": 8, "length": 4, "url": "https://x.org"},
    ]
    assert received.params["message_thread_id"] == "7"
    reply = {"message_id": 101, "allow_sending_without_reply": True}
    assert received.params["reply_parameters"] == reply
    assert received.params["link_preview_options"] == {"is_disabled": True}
    await channel.send(address, part, plain=True)
    plain = await telegram.reply_in(-5)
    assert plain.text == "😀 bold site (https://x.org)"
    assert plain.entities == []


FAULTS: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"status": 400, "description": "Bad Request: chat not found"}, ChatGone),
    ({"status": 400, "description": "Bad Request: not enough rights to send text"}, ChatGone),
    ({"status": 400, "description": "Bad Request: message thread not found"}, ThreadGone),
    ({"status": 400, "description": "Bad Request: TOPIC_CLOSED"}, ThreadGone),
    ({"status": 400, "description": "Bad Request: TOPIC_DELETED"}, ThreadGone),
    ({"status": 400, "description": "Bad Request: not enough rights to send photos"}, Refused),
    ({"status": 400, "description": "Bad Request: BUTTON_DATA_INVALID"}, Refused),
    ({"status": 403, "description": "Forbidden: bot was kicked from the group chat"}, ChatGone),
    ({"status": 403, "description": "Forbidden: bot is not a member of the channel"}, ChatGone),
    ({"status": 400, "description": "Bad Request: can't parse entities"}, Refused),
    ({"status": 413}, Refused),
    ({"status": 401, "description": "Unauthorized"}, NotSent),
    ({"status": 404, "description": "Not Found"}, NotSent),
    ({"status": 403, "description": "Forbidden: user is deactivated"}, ChatGone),
    ({"status": 429, "retry_after": 4}, NotSent),
    ({"status": 429}, NotSent),
    ({"status": 500}, NotSent),
    ({"status": 502, "body": b"<html>"}, OutcomeUnknown),
    ({"status": 502, "body": b"<html>", "drop": "after"}, OutcomeUnknown),
    ({"status": 503, "body": b'["a list"]'}, OutcomeUnknown),
    ({"status": 504, "body": b""}, OutcomeUnknown),
    ({"status": 408, "body": b""}, OutcomeUnknown),
    ({"status": 403, "body": b"<html>"}, NotSent),
    ({"status": 413, "body": b"<html>"}, Refused),
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


async def test_a_chat_that_moved_says_where_to(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    moved = "Bad Request: group chat was upgraded to a supergroup chat"
    telegram.fail("sendMessage", status=400, description=moved, migrate_to_chat_id=-100123)
    with pytest.raises(ChatMoved) as raised:
        await channel.send(CHAT, PART)
    assert raised.value.chat_id == "-100123"


async def test_topics_that_are_not_there_or_closed_are_gone(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(-5, "hi")
    telegram.extras.topics[-5] = {7, 8}
    telegram.extras.closed.add((-5, 8))
    assert await channel.send(Address("telegram", "-5", "7"), PART)
    for thread in ("8", "9"):
        with pytest.raises(ThreadGone):
            await channel.send(Address("telegram", "-5", thread), PART)


async def test_a_refused_connection_means_not_sent(clock: ManualClock) -> None:
    async with TelegramServer() as stopped:
        pass
    channel = TelegramChannel("telegram", stopped.token, stopped.root_url, clock=clock)
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
    received = await telegram.reply_in(1)
    assert (received.text, received.history) == ("hello again", ["hello"])
    with pytest.raises(Refused):
        await channel.edit(CHAT, "999", PART)


async def test_an_edit_takes_buttons_away_and_brings_others(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    question = OutboundMessage(
        address=CHAT, text="**Which?**", key="k", choices=(Choice("a", "/a"),)
    )
    message_id = await channel.send(CHAT, channel.render(question)[0])
    received = await telegram.reply_in(1)
    assert "reply_markup" in received.params
    await channel.edit(CHAT, message_id, OutboundPart(text="so far ..."), plain=True)
    assert (received.text, "reply_markup" in received.params) == ("so far ...", False)
    await channel.edit(CHAT, message_id, channel.render(question)[0])
    assert (received.text, "reply_markup" in received.params) == ("Which?", True)
    assert [entity["type"] for entity in received.entities] == ["bold"]


async def test_an_edit_of_what_cannot_be_edited_is_refused(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("editMessageText", status=400, description="Bad Request: message can't be edited")
    with pytest.raises(Refused):
        await channel.edit(CHAT, "101", PART)


async def test_typing_is_shown_and_nothing_is_found(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    await channel.typing(CHAT)
    assert telegram.calls_of("sendChatAction")[0].params == {"chat_id": "1", "action": "typing"}
    assert await channel.find(CHAT, PART, 0.0) is None
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


# Rendering.


def render(text: str, address: Address = CHAT, **fields: Any) -> list[OutboundPart]:
    message = OutboundMessage(address=address, text=text, key="run.0", **fields)
    return render_message(message)


@pytest.mark.process
@given(
    st.text(st.sampled_from("ab😀é*_`#> \n[](:/.)"), max_size=400) | texts(10, 100),
    st.integers(1, 60),
)
def test_whatever_is_rendered_is_accepted(text: str, times: int) -> None:
    for part in render(text * times):
        payload = payload_of(part)
        if payload.html:
            assert TelegramServer().native.text_of({"rich_message": {"html": payload.html}})
        for plain in plain_pieces(part.text):
            check_text({"text": plain})
        for piece in older(part):
            check_text({"text": piece.text, "entities": msgspec.to_builtins(piece.entities)})
            assert len(piece.entities) <= 100


def older(part: OutboundPart) -> list[Piece]:
    """The messages that it is without a rich one."""
    payload = payload_of(part)
    text = part.text if payload.text is None else payload.text
    return payload.pieces or [Piece(text, payload.entities)]


@given(
    st.lists(
        st.sampled_from(
            [
                *("**bold words**", "[a link](https://x.org/a)", "`code`", "wörd. ", "😀 ", "\n\n"),
                *("# Head\n", "- item\n", "\n```py\nx = 1\n\ny = 2\n```\n", "> said\n", "🇩🇪"),
                *("\n|a|b|\n|-|-|\n|c|d|\n", "plain " * 50, "x" * 300, "\n", "👩‍👩‍👧‍👦"),
            ]
        ),
        max_size=80,
    ),
    st.integers(1, 12),
)
def test_no_letter_is_lost_in_parts_and_none_in_their_plain_fallback(
    words: list[str], times: int
) -> None:
    source = "".join(words) * times
    whole = [char for char in from_markdown(source).text if char.isalnum()]
    shown, plain = [], []
    for part in render(source):
        shown += [char for piece in older(part) for char in piece.text if char.isalnum()]
        plain += [char for char in part.text if char.isalnum()]
    if whole:
        assert shown == whole
        left = iter(plain)
        assert all(char in left for char in whole)


def test_a_message_of_nothing_still_has_a_part() -> None:
    assert [part.text for part in render(" \n\u200b")] == ["(empty message)"]


def test_long_text_is_one_rich_message_as_long_as_it_fits() -> None:
    (part,) = render("😀" * 5000)
    assert [len(piece.text) for piece in older(part)] == [2048, 2048, 904]
    assert payload_of(part).html.count("😀") == 5000
    parts = render("😀" * 33_000)
    assert sum((payload_of(part).html or part.text).count("😀") for part in parts) == 33_000
    assert all(len(payload_of(part).html) <= 33_000 for part in parts)
    assert [part.key for part in parts[:2]] == ["run.0.0", "run.0.1"]


@pytest.mark.parametrize("words", [1_500, 9_000])
def test_the_first_part_replies_and_the_last_one_has_the_buttons(words: int) -> None:
    choices = (Choice("yes", "/approve 1"), Choice("no", "/deny 1"))
    parts = render("word " * words, Address("telegram", "-5"), reply_to="7", choices=choices)
    first, last = payload_of(parts[0]), payload_of(parts[-1])
    assert first.reply_to == "7"
    assert msgspec.to_builtins(last.buttons) == [
        [
            {"text": "yes", "callback_data": "/approve 1"},
            {"text": "no", "callback_data": "/deny 1"},
        ]
    ]
    assert len(parts) == 1 or (first.buttons, last.reply_to) == ([], None)


def test_with_one_person_alone_nothing_is_a_reply() -> None:
    (part,) = render("yes", reply_to="7")
    assert payload_of(part).reply_to is None


def test_two_short_choices_share_a_row_and_what_makes_no_button_is_written_out() -> None:
    choices = (
        Choice("yes", "/approve 1"),
        Choice("Yes, and do not ask again", "/approve 1 always"),
        Choice("no", "/deny 1"),
        Choice("later", "/later 1"),
        Choice("Explain", "x" * 65),
        Choice("Nothing", ""),
    )
    (part,) = render("Which?", choices=choices)
    rows = msgspec.json.decode(part.payload)["buttons"]
    assert [[button["text"] for button in row] for row in rows] == [
        ["yes"],
        ["Yes, and do not ask again"],
        ["no", "later"],
    ]
    assert part.text == f"Which?\n\nExplain: {'x' * 65}\n\nNothing"


def test_files_are_the_hosts_to_send_and_not_in_the_text() -> None:
    parts = render("Here.", attachments=(Attachment(kind="document", name="a.pdf"),))
    assert [part.text for part in parts] == ["Here."]


async def test_previews_of_links_are_small_and_only_where_they_are_wanted(
    telegram: TelegramServer,
) -> None:
    telegram.say(1, "hi")
    table = {"token": telegram.token, "api_root": telegram.root_url}
    for more, options in (
        ({}, {"is_disabled": True}),
        ({"link_previews": True}, {"prefer_small_media": True}),
    ):
        channel = open_channel("telegram", {**table, **more})
        message_id = await channel.send(CHAT, OutboundPart(text="see https://example.org"))
        assert (await telegram.reply_in(1)).params["link_preview_options"] == options
        await channel.edit(CHAT, message_id, OutboundPart(text="see https://example.com"))
        assert telegram.messages(1)[-1].params["link_preview_options"] == options
        await channel.close()
    with pytest.raises(ConfigError, match="true or false"):
        open_channel("telegram", {**table, "link_previews": "yes"})
