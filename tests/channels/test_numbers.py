"""No number from outside, however absurd, costs more than the message that it came with."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.messages import InboundMessage
from nanobot_channels.common.numbers import LONGEST_WAIT, moment, seconds, size
from nanobot_channels.common.shapes import BadEvent
from nanobot_channels.discord import messages as discord
from nanobot_channels.matrix import events as matrix
from nanobot_channels.slack import events as slack
from nanobot_channels.telegram import updates as telegram

NOW = 1_800_000_000.0
LAST = 253_402_300_799.0
ABSURD: st.SearchStrategy[Any] = st.one_of(
    st.floats(),
    st.integers(),
    st.sampled_from(
        (
            10**400,
            -(10**400),
            2**63,
            2**64,
            1e300,
            "1e999",
            "nan",
            "-1",
            "9" * 400,
            "",
            None,
            [],
            True,
        )
    ),
)


@given(ABSURD)
def test_waits_times_and_sizes_are_usable_or_none(value: Any) -> None:
    wait = seconds(value)
    assert wait is None or 0 < wait <= LONGEST_WAIT
    for per_second in (1.0, 1000.0):
        assert 0 < moment(value, NOW, per_second=per_second) <= LAST
    assert 0 <= size(value) < 2**53


def test_what_is_said_in_earnest_is_taken() -> None:
    assert (seconds(4.5), seconds("30"), seconds(0), seconds(-1)) == (4.5, 30.0, None, None)
    assert (seconds(1500, per_second=1000), seconds(10**400, per_second=1000)) == (1.5, None)
    assert moment(1_700_000_000_500, NOW, per_second=1000) == 1_700_000_000.5
    assert (size(7), size(7.9), size(-7), size(math.nan)) == (7, 7, 0, 0)


def check(message: InboundMessage | None) -> None:
    """It can be stored, read again, and shown with its time."""
    if message is None:
        return
    assert msgspec.json.decode(msgspec.json.encode(message), type=InboundMessage) == message
    assert 0 <= message.sent_at <= LAST
    assert all(0 <= file.size < 2**53 for file in message.attachments)


@given(ABSURD, ABSURD, ABSURD)
def test_telegram(date: Any, bytes_: Any, number: Any) -> None:
    file = {"file_id": "F", "file_size": bytes_, "width": number}
    message = {"message_id": 5, "date": date, "chat": {"id": 1}, "from": {"id": 7}}
    message |= {"text": "hi", "document": file, "photo": [file], "dice": {"value": number}}
    message |= {"location": {"latitude": 1.0, "longitude": number}}
    for update in ({"message": message}, {"message": message | {"message_id": number}}):
        try:
            check(telegram.to_inbound(update, "telegram", None, NOW))
        except telegram.BadUpdate:
            continue


@given(ABSURD, ABSURD)
def test_discord(bytes_: Any, number: Any) -> None:
    data: dict[str, Any] = {"id": "1000", "channel_id": "5", "author": {"id": "7"}}
    data |= {"content": "hi", "attachments": [{"id": "1", "size": bytes_}]}
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"id": number},
        {"id": str(number)},
        {"nonce": number},
        {"type": number},
    )
    for change in changes:
        try:
            message = discord.parse(data | change)
            check(
                discord.to_inbound(
                    message, discord.ChannelPlace(), "discord", discord.BotUser("42")
                )
            )
        except BadEvent:
            continue


@given(ABSURD, ABSURD)
def test_slack(bytes_: Any, number: Any) -> None:
    event: dict[str, Any] = {"ts": "1700000000.000100", "channel": "D1", "user": "U1"}
    event |= {"text": "hi", "files": [{"id": "F1", "size": bytes_}]}
    for change in ({}, {"ts": number}, {"ts": "999999999999.999999"}, {"thread_ts": number}):
        try:
            item = slack.user_message(event | change, slack.BotUser("UBOT"))
            if item is not None:
                check(
                    slack.inbound(
                        item, "slack", slack.BotUser("UBOT"), {}, slack.ThreadContext(), opens=True
                    )
                )
        except BadEvent:
            continue


@given(ABSURD, ABSURD)
def test_matrix(sent: Any, bytes_: Any) -> None:
    content = {"msgtype": "m.image", "body": "a.png", "url": "mxc://x/y", "info": {"size": bytes_}}
    event = matrix.convert(
        {
            "type": "m.room.message",
            "sender": "@ann:x",
            "event_id": "$1",
            "origin_server_ts": sent,
            "content": content,
        }
    )
    assert 0 < event.sent_at(NOW) <= LAST
    it = matrix.message_content(event)
    assert it is not None
    assert 0 <= it.attachments[0].size < 2**53


def test_an_integer_as_nonce_costs_no_message() -> None:
    data = {"id": "1000", "channel_id": "5", "author": {"id": "7"}, "content": "hi", "nonce": 5}
    assert discord.parse(data).content == "hi"


@pytest.mark.parametrize("number", ["18446744073709551616", "9223372036854775808", "-1", "٣"])
def test_an_id_beyond_64_bits_is_none(number: str) -> None:
    assert not discord.is_snowflake(number)
