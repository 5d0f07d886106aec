"""Slack says exactly what became of a message, and what it said before is found again."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.errors import (
    ChannelDown,
    ChatGone,
    ConfigError,
    NotSent,
    OutcomeUnknown,
    Refused,
    ThreadGone,
)
from nanobot.messages import Address, Attachment, Choice, OutboundMessage
from nanobot.ports import (
    Channel,
    Editing,
    Fetching,
    Filing,
    OutboundPart,
    Reacting,
    Reaction,
    SelfChecking,
)
from nanobot_channels.slack import SlackChannel, open_channel
from tests.doubles.slack_bench import Bench, bench
from tests.doubles.slack_rules import shown_text
from tests.doubles.slack_server import SlackServer

CHAT = Address("slack", "C1")
PART = OutboundPart(text="hello", key="run.0:0")


async def test_a_part_is_sent_with_its_looks_thread_and_key(b: Bench) -> None:
    root = b.slack.say("C1", "hi")
    address = Address("slack", "C1", root["ts"])
    text = "**bold** <!channel> [site](https://x.org) & more"
    message = OutboundMessage(address=address, text=text, key="run.0")
    ts = await b.channel.send(address, b.channel.render(message)[0])
    reply = await b.slack.reply_in("C1")
    assert (reply["ts"], reply["thread_ts"]) == (ts, root["ts"])
    assert reply["text"] == "bold &lt;!channel&gt; site (https://x.org) &amp; more"
    assert reply["metadata"]["event_payload"] == {"key": "run.0.0"}
    shown = text.replace("<!", "&lt;!")
    assert reply["blocks"] == [{"type": "markdown", "text": shown}]
    params = b.slack.calls_of("chat.postMessage")[0].params
    assert params["unfurl_links"] is False
    assert (params["parse"], params["link_names"]) == ("none", False)


async def test_plain_text_is_shown_as_it_is_and_keeps_its_buttons(b: Bench) -> None:
    choices = (Choice("Yes", "/approve 1"),)
    message = OutboundMessage(address=CHAT, text="*a* <@U1>", key="k", choices=choices)
    part = b.channel.render(message)[0]
    await b.channel.send(CHAT, part, plain=True)
    reply = await b.slack.reply_in("C1")
    assert shown_text(reply["blocks"]) == part.text
    assert reply["blocks"][1]["elements"][0]["value"] == "/approve 1"
    await b.channel.send(CHAT, PART, plain=True)
    assert b.slack.sent("C1")[-1]["blocks"] == []
    assert b.slack.calls[-1].params["mrkdwn"] is False


FAULTS: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"error": "channel_not_found"}, ChatGone),
    ({"error": "not_in_channel"}, ChatGone),
    ({"error": "is_archived"}, ChatGone),
    ({"error": "user_not_found"}, ChatGone),
    ({"error": "restricted_action_thread_locked"}, ThreadGone),
    ({"error": "msg_too_long"}, Refused),
    ({"error": "invalid_blocks"}, Refused),
    ({"error": "restricted_action"}, Refused),
    ({"error": "invalid_auth"}, NotSent),
    ({"error": "missing_scope", "needed": "chat:write"}, NotSent),
    ({"error": "ratelimited", "status": 429, "retry_after": 4}, NotSent),
    ({"error": "ratelimited", "status": 429}, NotSent),
    ({"error": "service_unavailable"}, NotSent),
    ({"error": "fatal_error"}, OutcomeUnknown),
    ({"error": "internal_error"}, OutcomeUnknown),
    ({"error": "service_unavailable", "status": 503}, NotSent),
    ({"error": "internal_error", "status": 500}, OutcomeUnknown),
    ({"status": 500}, OutcomeUnknown),
    ({"status": 502, "body": b"<html>", "content_type": "text/html"}, OutcomeUnknown),
    ({"status": 503, "body": b'["a list"]'}, OutcomeUnknown),
    ({"status": 504, "body": b""}, OutcomeUnknown),
    ({"status": 504, "body": b"", "drop": "after"}, OutcomeUnknown),
    ({"status": 408, "body": b""}, OutcomeUnknown),
    ({"status": 403, "body": b"denied", "content_type": "text/plain"}, NotSent),
    ({"status": 404, "body": b"gone", "content_type": "text/plain"}, NotSent),
    ({"status": 413, "body": b"too large", "content_type": "text/plain"}, Refused),
    ({"drop": "before"}, OutcomeUnknown),
    ({"drop": "after"}, OutcomeUnknown),
    ({"body": b"not json"}, OutcomeUnknown),
    ({"body": b"\xff\xfe"}, OutcomeUnknown),
    ({"body": b"<html>", "content_type": "text/html"}, OutcomeUnknown),
    ({"body": b"[]"}, OutcomeUnknown),
    ({"body": b"[1]"}, OutcomeUnknown),
    ({"body": b'"text"'}, OutcomeUnknown),
    ({"body": b"null"}, OutcomeUnknown),
    ({"body": b'{"ok": true}'}, OutcomeUnknown),
    ({"body": b'{"ok": true, "ts": 5}'}, OutcomeUnknown),
    ({"body": b'{"ok": false}'}, OutcomeUnknown),
    ({"body": b'{"ok": false, "error": 5}'}, OutcomeUnknown),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=str)
async def test_a_failed_send_tells_what_became_of_it(
    fault: dict[str, Any], expected: type[Exception], b: Bench
) -> None:
    b.slack.fail("chat.postMessage", times=1, **fault)
    with pytest.raises(expected) as raised:
        await b.channel.send(CHAT, PART)
    assert type(raised.value) is expected
    assert b.slack.bot_token not in str(raised.value)
    # Nothing is ever repeated by itself.
    assert len(b.slack.calls_of("chat.postMessage")) == 1
    applied = fault.get("drop") == "after" or ("body" in fault and "status" not in fault)
    assert bool(b.slack.sent("C1")) == applied
    await b.channel.send(CHAT, PART)


async def test_a_rate_limit_says_when_to_try_again(b: Bench) -> None:
    b.slack.fail("chat.postMessage", error="ratelimited", status=429, retry_after=4)
    with pytest.raises(NotSent) as raised:
        await b.channel.send(CHAT, PART)
    assert raised.value.retry_after == 4


async def test_a_refused_connection_means_not_sent() -> None:
    async with SlackServer() as stopped:
        pass
    channel = SlackChannel("slack", (stopped.bot_token, stopped.app_token), stopped.api_root)
    with pytest.raises(NotSent):
        await channel.send(CHAT, PART)
    with pytest.raises(ChannelDown):
        await channel.check()
    await channel.close()


async def test_a_chat_without_the_bot_is_gone_with_the_remedy(b: Bench) -> None:
    b.slack.rooms["C1"].member = False
    with pytest.raises(ChatGone, match="/invite"):
        await b.channel.send(CHAT, PART)
    with pytest.raises(ChatGone, match="invite"):
        await b.channel.send(Address("slack", "C404"), PART)
    b.slack.rooms["D1"].archived = True
    with pytest.raises(ChatGone, match="archived"):
        await b.channel.send(Address("slack", "D1"), PART)


async def test_what_was_sent_without_an_answer_is_found(b: Bench) -> None:
    root = b.slack.say("C1", "hi")
    for address in (CHAT, Address("slack", "C1", root["ts"])):
        assert await b.channel.find(address, PART, 0.0) is None
        b.slack.fail("chat.postMessage", times=1, drop="after")
        with pytest.raises(OutcomeUnknown):
            await b.channel.send(address, PART)
        for n in range(450):
            b.slack.say("C1", f"line {n}", thread_ts=address.thread_id, quiet=True)
        assert await b.channel.find(address, PART, 0.0) == b.slack.sent("C1")[-1]["ts"]
    other = OutboundPart(text="hello", key="run.0:1")
    assert await b.channel.find(CHAT, other, 0.0) is None
    b.slack.fail("conversations.history", error="missing_scope", needed="channels:history")
    with pytest.raises(NotSent, match="channels:history"):
        await b.channel.find(CHAT, PART, 0.0)
    assert b.channel.capabilities.reconciles


@pytest.mark.parametrize("status", [502, 504])
async def test_a_message_that_was_applied_behind_a_proxys_error_is_found(status: int) -> None:
    async with bench() as b:
        b.slack.fail("chat.postMessage", times=1, status=status, body=b"<html>", drop="after")
        with pytest.raises(OutcomeUnknown):
            await b.channel.send(CHAT, PART)
        assert await b.channel.find(CHAT, PART, 0.0) == b.slack.sent("C1")[0]["ts"]


async def test_an_edit_replaces_the_message_and_an_equal_one_is_no_error(b: Bench) -> None:
    source = b.slack.say("C1", "theirs")
    ts = await b.channel.send(CHAT, PART)
    for _ in range(2):
        await b.channel.edit(CHAT, ts, OutboundPart(text="a & b"))
    assert (await b.slack.reply_in("C1"))["text"] == "a &amp; b"
    for wrong in ("1.1", source["ts"]):
        with pytest.raises(Refused):
            await b.channel.edit(CHAT, wrong, PART)


async def test_a_reaction_takes_the_place_of_the_one_before(b: Bench) -> None:
    source = b.slack.say("C1", "hi")
    key = ("C1", source["ts"])
    for _ in range(2):
        await b.channel.react(CHAT, source["ts"], Reaction.RECEIVED)
    assert b.slack.reactions[key] == {"eyes"}
    await b.channel.react(CHAT, source["ts"], Reaction.FAILED)
    assert b.slack.reactions[key] == {"x"}
    await b.channel.react(CHAT, source["ts"], Reaction.DONE)
    assert b.slack.reactions[key] == {"white_check_mark"}
    before = len(b.slack.calls)
    await b.channel.react(CHAT, "1.2.abc", Reaction.DONE)  # of a slash command
    assert len(b.slack.calls) == before
    with pytest.raises(Refused):
        await b.channel.react(CHAT, "1.1", Reaction.DONE)


async def test_a_status_is_shown_in_threads_and_given_up_where_it_may_not_be(b: Bench) -> None:
    root = b.slack.say("C1", "hi")
    thread = Address("slack", "C1", root["ts"])
    await b.channel.typing(CHAT)
    await b.channel.typing(thread)
    await b.channel.tell(thread, "exec: ls -la")
    assert [(status["thread_ts"], status["status"]) for status in b.slack.statuses] == [
        (root["ts"], "is thinking..."),
        (root["ts"], "is at work: exec: ls -la"),
    ]
    b.slack.fail("assistant.threads.setStatus", times=1, status=500)
    await b.channel.typing(thread)
    b.slack.fail("assistant.threads.setStatus", times=1, error="missing_scope")
    for _ in range(3):
        await b.channel.typing(thread)
    assert len(b.slack.calls_of("assistant.threads.setStatus")) == 4


# Files.


def file_part(name: str = "a.pdf", caption: str = "") -> OutboundPart:
    return OutboundPart(text=caption, key="run.0:1", file=Attachment(kind="document", name=name))


async def test_a_file_is_sent_into_the_thread_with_its_caption_and_found_again(b: Bench) -> None:
    root = b.slack.say("C1", "hi")
    address = Address("slack", "C1", root["ts"])
    part = file_part("Größe.pdf", "the <figures>")
    assert await b.channel.find(address, part, 0.0) is None
    assert await b.channel.send_file(address, part, b"content") == "F1"
    reply = await b.slack.reply_in("C1")
    assert (reply["files"][0]["name"], reply["thread_ts"]) == ("Größe.pdf", root["ts"])
    assert shown_text(reply["blocks"]) == "the <figures>"
    assert b.slack.files["F1"].content == b"content"
    assert await b.channel.find(address, part, 0.0) == reply["ts"]
    assert await b.channel.find(address, file_part(), 0.0) == reply["ts"]


@pytest.mark.parametrize(
    ("method", "fault", "expected"),
    [
        ("files.getUploadURLExternal", {"drop": "after"}, NotSent),
        ("files.getUploadURLExternal", {"error": "missing_scope"}, NotSent),
        ("files.getUploadURLExternal", {"error": "file_upload_size_restricted"}, Refused),
        ("files.getUploadURLExternal", {"body": b'{"ok": true}'}, NotSent),
        ("files.completeUploadExternal", {"drop": "after"}, OutcomeUnknown),
        ("files.completeUploadExternal", {"drop": "before"}, OutcomeUnknown),
        ("files.completeUploadExternal", {"error": "not_in_channel"}, ChatGone),
        ("files.completeUploadExternal", {"status": 429, "retry_after": 3}, NotSent),
    ],
)
async def test_a_failed_file_tells_what_became_of_it(
    method: str, fault: dict[str, Any], expected: type[Exception], b: Bench
) -> None:
    b.slack.fail(method, times=1, **fault)
    with pytest.raises(expected) as raised:
        await b.channel.send_file(CHAT, file_part(), b"content")
    assert type(raised.value) is expected
    message_id = await b.channel.find(CHAT, file_part(), 0.0)
    assert bool(message_id) == (method.startswith("files.complete") and "after" in fault.values())


async def test_a_files_content_is_fetched_with_the_token(b: Bench) -> None:
    file = b.slack.keep_file("a.txt", b"content", "text/plain")
    attachment = Attachment(kind="document", ref=file["url_private"], mime="text/plain")
    assert await b.channel.fetch(attachment, 7) == b"content"
    assert await b.channel.fetch(Attachment(kind="document", ref="F1"), 7) == b"content"
    with pytest.raises(Refused, match="larger than 6"):
        await b.channel.fetch(attachment, 6)
    b.slack.sign_in = True
    with pytest.raises(Refused, match="files:read"):
        await b.channel.fetch(attachment, 7)


async def test_the_token_is_shown_to_slack_only() -> None:
    async with SlackServer() as elsewhere, bench() as b:
        file = elsewhere.keep_file("a.txt", b"content", "text/plain")
        for ref in (
            file["url_private"],
            "https://slack.com.example.org/a",
            "http://files.slack.com/a",
            "https://evil-slack.com/a",
        ):
            with pytest.raises(Refused, match="not kept by Slack"):
                await b.channel.fetch(Attachment(kind="document", ref=ref), 100)
        with pytest.raises(Refused):
            await b.channel.fetch(Attachment(kind="document", ref="F404"), 100)


# Settings.

TOKENS: dict[str, object] = {"bot_token": "xoxb-1-a", "app_token": "xapp-1-a"}


async def test_settings_make_a_channel_with_all_it_can_do() -> None:
    async with SlackServer() as slack:
        settings = {
            "bot_token": f" {slack.bot_token}\n",
            "app_token": slack.app_token,
            "api_root": slack.api_root.rstrip("/"),
            "threads": "never",
            "slash_command": "/nanobot",
            "backfill_messages": 10,
            "backfill_hours": 1.5,
        }
        channel: Channel = open_channel("work", settings)
        for protocol in (Editing, Fetching, Filing, Reacting, SelfChecking):
            assert isinstance(channel, protocol)
        assert await channel.send(CHAT, PART)
        await channel.close()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"bot_token": ""}, r"channels\.work\.bot_token is missing.*OAuth & Permissions"),
        ({"bot_token": "xapp-1"}, r"channels\.work\.bot_token does not begin with xoxb-"),
        ({"bot_token": 5}, r"channels\.work\.bot_token"),
        ({"app_token": ""}, r"channels\.work\.app_token is missing.*App-Level Tokens"),
        ({"app_token": "xoxb-1"}, r"channels\.work\.app_token does not begin with xapp-"),
        ({"api_root": "slack.com"}, r"channels\.work\.api_root"),
        ({"threads": "yes"}, r"channels\.work\.threads"),
        ({"threads": []}, r"channels\.work\.threads"),
        ({"slash_command": "nanobot"}, r"channels\.work\.slash_command"),
        ({"backfill_messages": -1}, r"channels\.work\.backfill_messages"),
        ({"backfill_messages": True}, r"channels\.work\.backfill_messages"),
        ({"backfill_hours": "a day"}, r"channels\.work\.backfill_hours"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_name_the_key_and_the_remedy(
    settings: dict[str, object], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        open_channel("work", TOKENS | settings)
