"""Slack's messages arrive in order, once, and are acknowledged only when they are kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nanobot.errors import BadCredentials, ChannelDown, StoreError
from nanobot.messages import Address
from nanobot.ports import Checked
from nanobot_channels.slack import SCOPES
from nanobot_channels.slack.backfill import Bounds
from tests.doubles.slack_bench import Bench, bench


async def test_a_message_is_acknowledged_after_its_commit(b: Bench) -> None:
    states: list[bool] = []
    b.intake.on_admit = lambda: states.append(bool(b.slack.pending))
    async with b.running():
        event = b.slack.say("D1", "hi")
        message = (await b.intake.received(1))[0]
        await b.slack.settled()
    assert states == [False, True]
    assert message.address == Address("slack", "D1")
    assert (message.text, message.sender.id, message.sender.name) == ("hi", "U1", "Ann")
    assert (message.message_id, message.dedupe_key) == (event["ts"], f"D1:{event['ts']}")
    assert message.addressed
    assert not message.group
    assert (b.intake.stored or "").split()[0] == event["ts"]


async def test_what_could_not_be_kept_is_not_acknowledged_and_comes_again(b: Bench) -> None:
    async with b.running(ends=True) as run:
        b.intake.failures.append(StoreError("disk full"))
        b.slack.say("D1", "hi")
        with pytest.raises(StoreError, match="disk full"):
            await run
    assert [envelope.acknowledged for envelope in b.slack.envelopes.values()] == [False]
    async with b.running():
        assert (await b.intake.received(1))[0].text == "hi"
        await b.slack.settled()


async def test_a_burst_keeps_its_order(b: Bench) -> None:
    b.slack.people |= {f"U{n}": f"Person {n}" for n in range(1, 60)}
    async with b.running():
        for n in range(1, 60):
            b.slack.say("C1", f"line {n}", user=f"U{n}")
        messages = await b.intake.received(59)
        await b.slack.settled()
    assert [message.text for message in messages] == [f"line {n}" for n in range(1, 60)]


async def test_a_redelivered_message_has_the_same_key(b: Bench) -> None:
    async with b.running():
        b.slack.say("D1", "hi")
        await b.slack.settled()
        for envelope in b.slack.envelopes.values():
            envelope.acknowledged = False
        b.slack.redeliver()
        messages = await b.intake.received(2)
        await b.slack.settled()
    assert messages[0].dedupe_key == messages[1].dedupe_key


async def test_a_mention_that_comes_as_two_events_is_one_message(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "<@UBOT> hi <@U2>")
        first, second = await b.intake.received(2)
        await b.slack.settled()
    assert first == second
    assert (first.text, first.addressed, first.group) == ("hi @Bob", True, True)


async def test_the_bots_own_words_and_other_bots_are_not_heard(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "from a bot", bot_id="B9")
        b.slack.say("C1", "old bot", subtype="bot_message")
        b.slack.say("C1", "joined", subtype="channel_join")
        b.slack.say("C1", "mine", user="UBOT")
        b.slack.say("C1", "a person")
        messages = await b.intake.received(1)
        await b.slack.settled()
    assert [message.text for message in messages] == ["a person"]


# Bad input.

BAD_PAYLOADS: list[Any] = [
    {},
    {"type": "event_callback"},
    {"type": "event_callback", "event": []},
    {"type": "event_callback", "event": {"type": "message"}},
    {"type": "event_callback", "event": {"type": "message", "user": "U1", "text": "x"}},
    {"type": "event_callback", "event": {"type": "message", "user": "U1", "text": 5, "ts": "a"}},
    {
        "type": "event_callback",
        "event": {"type": "message", "user": "U1", "text": "x", "ts": "1.1.1", "channel": "D1"},
    },
    {"type": "event_callback", "event": {"type": "message", "subtype": "message_changed"}},
    {"type": "event_callback", "event": {"type": "reaction_added", "item": None}},
    {"type": "block_actions", "actions": [{"action_id": "nanobot.0", "value": "x"}]},
    {"type": "block_actions", "user": {"id": "U1"}, "actions": "x"},
    {"type": "view_submission", "view": None},
    {"command": "/nanobot"},
    {"command": 5},
    {"type": 7, "team": 3, "user": [], "channel": "x"},
    {"type": "unheard_of"},
    [],
    "text",
    None,
]


async def test_bad_envelopes_are_acknowledged_and_stop_nothing() -> None:
    async with bench(slash_command="/nanobot") as b:
        async with b.running():
            for payload in BAD_PAYLOADS:
                for kind in ("events_api", "interactive", "slash_commands", "unheard_of"):
                    b.slack.push(kind, payload)
            b.slack.push("events_api", None, without_payload=True)
            for raw in ("", "no json", "[]", "5", '{"type": "x"}', '{"envelope_id": 5}'):
                await b.slack.send_raw(raw)
            b.slack.say("D1", "still here")
            messages = await b.intake.received(1)
            await b.slack.settled()
        assert [message.text for message in messages] == ["still here"]


# The connection.


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_refresh_loses_nothing_and_asks_nothing(reason: str, b: Bench) -> None:
    async with b.running():
        b.slack.say("D1", "before")
        await b.intake.received(1)
        b.intake.addresses = [Address("slack", "D1")]
        await b.slack.disconnect(reason)
        b.slack.say("D1", "after")
        messages = await b.intake.received(2)
        await b.slack.settled()
        await b.slack.until(lambda: b.slack.connections == 1)
    assert [message.text for message in messages] == ["before", "after"]
    assert b.slack.opened == 2
    assert not b.slack.calls_of("conversations.history")


async def test_what_comes_over_two_connections_is_taken_in_the_order_in_which_it_was_said(
    b: Bench,
) -> None:
    async with b.running():
        await b.slack.disconnect("refresh_requested", close=False)
        await b.slack.until(lambda: b.slack.connections == 2)
        stamps = [b.slack.say("D1", str(number), quiet=True) for number in range(4)]
        for message in (stamps[1], stamps[0], stamps[3], stamps[2]):
            b.slack.event(message | {"channel": "D1", "channel_type": "im"})
        messages = await b.intake.received(4)
        await b.slack.settled()
    assert [message.text for message in messages] == ["0", "1", "2", "3"]


async def test_what_comes_while_a_new_connection_is_opened_does_not_wait_for_it(b: Bench) -> None:
    async with b.running(ends=True):
        b.slack.fail("apps.connections.open", times=1, drop="never")
        await b.slack.disconnect("refresh_requested", close=False)
        await b.slack.until(lambda: len(b.slack.calls_of("apps.connections.open")) == 2)
        b.slack.say("D1", "meanwhile")
        (message,) = await b.intake.received(1)
    assert message.text == "meanwhile"
    assert b.slack.opened == 1


async def test_after_a_broken_connection_what_was_missed_is_looked_up(b: Bench) -> None:
    async with b.running():
        b.slack.say("D1", "before")
        await b.intake.received(1)
        b.intake.addresses = [Address("slack", "D1")]
        b.clock.advance(60.0)
        b.slack.say("D1", "in the gap", quiet=True)
        b.slack.cut()
        await b.slack.until(lambda: b.slack.opened == 2)
        await b.intake.until(lambda: b.intake.messages[-1].text == "in the gap")
    texts = [message.text for message in b.intake.messages]
    assert list(dict.fromkeys(texts)) == ["before", "in the gap"]


async def test_a_connection_without_pongs_is_replaced(receiver: Bench) -> None:
    receiver.clock.advance(60.0)
    receiver.slack.answers_pings = False
    await receiver.slack.until(lambda: receiver.slack.opened == 2)
    receiver.slack.answers_pings = True
    receiver.slack.say("D1", "hi")
    await receiver.intake.received(1)


async def test_pongs_are_signs_of_life(b: Bench) -> None:
    async with b.running():
        await b.intake.until(lambda: b.intake.signs_of_life >= 3)
    assert b.slack.opened == 1


async def test_connections_that_end_at_once_are_left_to_the_host() -> None:
    async with bench() as b, b.running(ends=True) as run:
        b.slack.cut()
        with pytest.raises(ChannelDown, match="as soon as"):
            await run


async def test_a_server_that_is_not_there_means_down(b: Bench) -> None:
    b.slack.fail("apps.connections.open", status=503, body=b"<html>")
    with pytest.raises(ChannelDown, match=r"connections\.open"):
        await b.channel.run(b.intake)
    b.slack.heal()
    b.slack.fail("apps.connections.open", error="ratelimited", status=429, retry_after=7)
    with pytest.raises(ChannelDown) as raised:
        await b.channel.run(b.intake)
    assert raised.value.retry_after == 7
    assert b.slack.connections == 0


@pytest.mark.parametrize(
    ("method", "fault", "named"),
    [
        ("auth.test", {"error": "invalid_auth"}, "channels.slack.bot_token"),
        ("auth.test", {"error": "account_inactive"}, "channels.slack.bot_token"),
        ("auth.test", {"error": "missing_scope", "needed": "chat:write"}, "scope chat:write"),
        ("apps.connections.open", {"error": "invalid_auth"}, "channels.slack.app_token"),
        ("apps.connections.open", {"error": "not_allowed_token_type"}, "connections:write"),
    ],
)
async def test_refused_tokens_end_the_channel_with_the_remedy(
    method: str, fault: dict[str, Any], named: str, b: Bench
) -> None:
    b.slack.fail(method, **fault)
    for attempt in (b.channel.run(b.intake), b.channel.check()):
        with pytest.raises(BadCredentials) as raised:
            await attempt
        assert named in str(raised.value)
        assert b.slack.bot_token not in str(raised.value)


async def test_socket_mode_that_is_turned_off_is_said() -> None:
    async with bench() as b, b.running(ends=True) as run:
        await b.slack.disconnect("link_disabled", close=False)
        with pytest.raises(BadCredentials, match="turn it on"):
            await run


async def test_a_check_says_who_it_is_and_changes_nothing(b: Bench) -> None:
    assert await b.channel.check() == Checked("@nano in Loft")
    b.slack.scopes = ",".join(SCOPES - {"files:read", "users:read"})
    result = await b.channel.check()
    assert result.who == "@nano in Loft"
    assert "lacks the scopes files:read, users:read" in result.lacking
    assert b.slack.opened == 0


def test_the_documented_manifest_asks_for_every_scope_and_event() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "channels" / "slack.md").read_text("utf-8")
    requested = set(re.findall(r"^ +- ([\w.:]+)$", manual, re.MULTILINE))
    events = {"agent_session_stopped", "app_home_opened", "app_mention", "reaction_added"}
    events |= {*(f"message.{kind}" for kind in ("channels", "groups", "im", "mpim"))}
    assert requested == SCOPES | events | {"commands"}


# After a downtime.


async def test_what_was_said_meanwhile_comes_in_order_before_live_messages(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "first")
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1"), Address("slack", "D1")]
    root = b.slack.say("C1", "missed 1", quiet=True)
    b.slack.say("C1", "missed reply", quiet=True, thread_ts=root["ts"])
    b.slack.say("C1", "missed 2", quiet=True)
    b.slack.say("C1", "not for us", quiet=True, bot_id="B9")
    b.slack.say("D1", "missed direct", quiet=True)
    b.slack.say("C1", "live")  # waits for the next connection
    async with b.running():
        await b.intake.until(
            lambda: len({message.dedupe_key for message in b.intake.messages}) == 6
        )
        await b.slack.settled()
    places: dict[tuple[str, str | None], list[str]] = {}
    for message in b.intake.messages:
        texts = places.setdefault((message.address.chat_id, message.address.thread_id), [])
        if message.text not in texts:
            texts.append(message.text)
    assert places == {
        ("C1", None): ["first", "missed 1", "missed 2", "live"],
        ("C1", root["ts"]): ["missed reply"],
        ("D1", None): ["missed direct"],
    }


async def test_the_cursor_waits_for_every_back_fill(b: Bench) -> None:
    async with b.running():
        old = b.slack.say("C1", "first")
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1"), Address("slack", "D1")]
    b.slack.say("D1", "missed", quiet=True)
    latest = b.slack.say("G1", "live elsewhere")
    b.slack.fail("conversations.history", times=3, error="ratelimited", status=429)
    async with b.running():
        await b.intake.until(lambda: (b.intake.stored or "").split()[0] == latest["ts"])
        await b.slack.settled()
    cursors = [(cursor or "").split()[0] for _, cursor in b.intake.batches[1:]]
    assert cursors[-1] == latest["ts"]
    assert set(cursors[:-1]) == {old["ts"]}
    assert {message.text for message in b.intake.messages} >= {"missed", "live elsewhere"}


async def test_what_was_said_before_the_very_first_start_is_not_answered_later(b: Bench) -> None:
    b.slack.say("C1", "before", quiet=True)
    b.slack.now += 5
    b.intake.addresses = [Address("slack", "C1")]
    async with b.running():
        b.slack.say("C1", "first")
        await b.intake.received(1)
        await b.slack.settled()
    b.slack.say("C1", "missed", quiet=True)
    async with b.running():
        messages = await b.intake.received(3)
    # The overlap brings the first one again, which the journal knows.
    assert [message.text for message in messages] == ["first", "first", "missed"]


async def test_a_clock_of_the_machine_that_is_ahead_loses_nothing_of_a_downtime(b: Bench) -> None:
    b.clock.set_by(40 * 86_400)
    async with b.running():
        b.slack.say("C1", "first")
        await b.intake.received(1)
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1")]
    b.slack.say("C1", "missed", quiet=True)
    async with b.running():
        messages = await b.intake.received(3)
    # The overlap brings the first one again, which the journal knows.
    assert [message.text for message in messages] == ["first", "first", "missed"]


async def test_a_rate_limit_on_the_history_is_waited_out_as_told(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "first")
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1")]
    b.slack.say("C1", "missed", quiet=True)
    limit = {"error": "ratelimited", "status": 429, "retry_after": 60}
    b.slack.fail("conversations.history", times=7, **limit)
    async with b.running():
        await b.intake.until(lambda: b.intake.messages[-1].text == "missed")
    assert b.clock.sleeps == [60.0] * 7


async def test_a_back_fill_is_bounded_and_keeps_the_latest() -> None:
    async with bench(bounds=Bounds(messages=3)) as b:
        async with b.running():
            b.slack.say("C1", "first")
            await b.slack.settled()
        b.intake.addresses = [Address("slack", "C1")]
        for n in range(250):
            b.slack.say("C1", f"missed {n}", quiet=True)
        async with b.running():
            messages = await b.intake.received(4)
        assert [message.text for message in messages[1:]] == [
            "missed 247",
            "missed 248",
            "missed 249",
        ]


async def test_a_known_thread_is_looked_up_too(b: Bench) -> None:
    root = b.slack.say("C1", "<@UBOT> start")
    async with b.running():
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1", root["ts"])]
    b.slack.say("C1", "missed reply", quiet=True, thread_ts=root["ts"])
    async with b.running():
        await b.intake.until(lambda: b.intake.messages[-1].text == "missed reply")
    assert b.intake.messages[-1].address == Address("slack", "C1", root["ts"])
    assert b.intake.messages[-1].addressed


async def test_a_chat_that_cannot_be_read_holds_nothing_up(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "first")
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "CGONE"), Address("slack", "C1")]
    b.slack.say("C1", "missed", quiet=True)
    b.slack.say("C1", "live")
    async with b.running():
        await b.intake.until(lambda: b.intake.messages[-1].text == "live")
        await b.slack.settled()
    assert "missed" in [message.text for message in b.intake.messages]


async def test_a_back_fill_that_slack_never_answers_means_down(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "first")
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1")]
    b.slack.fail("conversations.history", drop="before")
    async with b.running(ends=True) as run:
        with pytest.raises(ChannelDown, match="missed"):
            await run
    assert len(b.slack.calls_of("conversations.history")) == 5


async def test_a_live_message_that_the_history_has_too_keeps_its_place(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "first")
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1")]
    b.slack.say("C1", "second")  # delivered on the next connection
    b.slack.say("C1", "third", quiet=True)
    async with b.running():
        await b.intake.until(lambda: "third" in [message.text for message in b.intake.messages])
        await b.slack.settled()
    assert [message.text for message in b.intake.messages][-2:] == ["second", "third"]


async def test_a_connection_without_a_hello_means_down(b: Bench) -> None:
    b.slack.says_hello = False
    with pytest.raises(ChannelDown, match="no connection"):
        await b.channel.run(b.intake)


async def test_a_history_of_odd_messages_costs_the_odd_ones_only(b: Bench) -> None:
    async with b.running():
        b.slack.say("C1", "first")
        await b.slack.settled()
    b.intake.addresses = [Address("slack", "C1")]
    odd: list[Any] = [
        5,
        None,
        {},
        {"ts": "x", "text": "no time"},
        {"ts": "1700000900.000100", "user": "U1", "text": ["no text"]},
        {"ts": "1700000900.000200", "user": "U1", "text": "odd", "latest_reply": "never"},
        {"ts": "1700000900.000300", "user": "U1", "text": "even", "files": [None, {}]},
    ]
    body = json.dumps({"ok": True, "messages": odd, "has_more": True}).encode()
    b.slack.fail("conversations.history", times=1, body=body)
    async with b.running():
        messages = await b.intake.received(3)
    assert [message.text for message in messages[1:]] == ["odd", "even"]
