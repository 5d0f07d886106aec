"""What people do on Slack arrives as what they meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.messages import Address, Choice, InboundMessage, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.shapes import BadEvent
from nanobot_channels.slack.blocks import words_of
from nanobot_channels.slack.events import (
    BotUser,
    ThreadContext,
    UserMessage,
    button_press,
    command_message,
    inbound,
    user_message,
)
from nanobot_channels.slack.parts import render
from nanobot_channels.slack.text import escape, mentions, to_plain, unescape, without_mention
from tests.doubles.slack_bench import Bench, bench


async def received(b: Bench, count: int = 1) -> list[InboundMessage]:
    """The messages, once so many came and everything is acknowledged."""
    messages = await b.intake.received(count)
    await b.slack.settled()
    return messages


def part(text: str, *labels: str) -> OutboundPart:
    choices = tuple(Choice(label, f"/{label.lower()}") for label in labels)
    address = Address("slack", "C1")
    return render(OutboundMessage(address=address, text=text, key="k", choices=choices))[0]


# Threads.


@pytest.mark.parametrize(
    ("threads", "in_channel", "in_direct"),
    [("auto", True, False), ("always", True, True), ("never", False, False)],
)
async def test_an_answer_opens_a_thread_as_configured(
    threads: str, in_channel: bool, in_direct: bool
) -> None:
    async with bench(threads=threads) as b:
        async with b.running():
            mention = b.slack.say("C1", "<@UBOT> hi")
            chat = b.slack.say("C1", "no mention")
            direct = b.slack.say("D1", "hi")
            messages = await received(b, 4)
        by_id = {message.message_id: message.address.thread_id for message in messages}
        assert by_id[mention["ts"]] == (mention["ts"] if in_channel else None)
        assert by_id[chat["ts"]] is None
        assert by_id[direct["ts"]] == (direct["ts"] if in_direct else None)


async def test_a_reply_is_in_its_thread_and_the_first_one_quotes_the_root(b: Bench) -> None:
    root = b.slack.say("C1", "the &lt;question&gt;", quiet=True, user="U2")
    async with b.running():
        b.slack.say("C1", "<@UBOT> what is this?", thread_ts=root["ts"])
        b.slack.say("C1", "and this?", thread_ts=root["ts"])
        messages = await received(b, 3)
    assert {message.address for message in messages} == {Address("slack", "C1", root["ts"])}
    assert {message.reply_to for message in messages} == {root["ts"]}
    assert (messages[0].quote, messages[-1].quote) == ("the <question>", "")
    assert [message.addressed for message in messages] == [True, True, False]
    assert [message.tainted for message in messages] == [True, False, False]


async def test_replies_are_for_the_bot_where_it_spoke_or_was_mentioned_at_the_root() -> None:
    async with bench() as b:
        question = b.slack.say("C1", "<@UBOT> hi", quiet=True)
        other = b.slack.say("C1", "lunch?", quiet=True)
        third = b.slack.say("C1", "coffee?", quiet=True)
        await b.channel.send(Address("slack", "C1", third["ts"]), part("tea"))
        async with b.running():
            for root in (question, other, third):
                b.slack.say("C1", "reply", thread_ts=root["ts"])
            await received(b, 3)
            await b.channel.send(Address("slack", "C1", other["ts"]), part("me"))
            b.slack.say("C1", "again", thread_ts=other["ts"])
            messages = await received(b, 4)
        assert [message.addressed for message in messages] == [True, False, True, True]
        # A thread is asked for once.
        assert len(b.slack.calls_of("conversations.replies")) == 3


async def test_a_thread_that_slack_does_not_show_costs_no_message(b: Bench) -> None:
    b.slack.fail("conversations.replies", error="missing_scope")
    async with b.running():
        b.slack.say("C1", "reply", thread_ts="1700000000.000100")
        (message,) = await received(b)
    assert (message.quote, message.addressed) == ("", False)


async def test_a_reply_that_is_shown_in_the_channel_stays_in_its_thread(b: Bench) -> None:
    root = b.slack.say("C1", "root", quiet=True)
    async with b.running():
        b.slack.say("C1", "both", thread_ts=root["ts"], subtype="thread_broadcast")
        (message,) = await received(b)
    assert message.address.thread_id == root["ts"]


# Edits.


async def test_an_edit_that_adds_the_mention_is_answered_as_the_mention_would_have_been() -> None:
    async with bench() as b:
        async with b.running():
            source = b.slack.say("C1", "helo")
            b.slack.edit("C1", source, "<@UBOT> hello")
            first, edit = await received(b, 2)
        assert (first.addressed, edit.addressed, edit.text) == (False, True, "hello")
        assert edit.address == Address("slack", "C1", source["ts"])


async def test_an_edit_is_a_new_version_of_the_message_where_it_was(b: Bench) -> None:
    async with b.running():
        source = b.slack.say("C1", "<@UBOT> helo")
        await received(b, 2)
        b.slack.edit("C1", source, "hello")
        b.slack.edit("C1", source, "hello!")
        messages = await received(b, 4)
    original, edit, again = messages[1:]
    assert (edit.text, edit.edit_of) == ("hello", original.dedupe_key)
    assert edit.address == original.address
    assert edit.message_id == source["ts"]
    assert len({original.dedupe_key, edit.dedupe_key, again.dedupe_key}) == 3


async def test_a_deletion_names_the_message_that_is_gone(b: Bench) -> None:
    async with b.running():
        alone = b.slack.say("D1", "one")
        root = b.slack.say("D1", "two", reply_count=1)
        below = b.slack.say("D1", "three", thread_ts=root["ts"])
        for each in (alone, root, below):
            b.slack.take_back("D1", each)
        messages = await received(b, 6)
    assert all(each.deleted for each in messages[3:])
    assert [each.edit_of for each in messages[3:]] == [each.dedupe_key for each in messages[:3]]
    assert messages[5].address == messages[2].address


async def test_unfurled_links_and_other_changes_are_no_edits(b: Bench) -> None:
    async with b.running():
        source = b.slack.say("C1", "see https://x.org")
        bot = {"bot_id": "B9", "user": "U9", "text": "a", "ts": "1700000000.000100"}
        b.slack.changed("C1", source | {"attachments": [{"title": "x"}]}, source)
        edited = {"edited": {"user": "U9", "ts": "1700000000.000200"}}
        b.slack.changed("C1", bot | edited | {"text": "b"}, bot)
        b.slack.changed("C1", source | edited, source)
        messages = await received(b)
    assert [message.text for message in messages] == ["see https://x.org"]


# Buttons and commands.


async def test_a_pressed_button_says_its_text_as_whoever_pressed_it(b: Bench) -> None:
    root = b.slack.say("C1", "hi", quiet=True)
    for thread in (None, root["ts"]):
        address = Address("slack", "C1", thread)
        await b.channel.send(address, part("Go?", "Yes", "No"))
    top, threaded = b.slack.sent("C1")
    async with b.running():
        await b.slack.settled()
        b.slack.press("C1", top, "No", user="U2")
        b.slack.press("C1", threaded, "Yes")
        no, yes = await received(b, 2)
    assert (no.text, no.sender.name, no.pressed, no.group) == ("/no", "Bob", True, True)
    assert (no.address, no.message_id) == (Address("slack", "C1"), top["ts"])
    assert (yes.text, yes.address.thread_id) == ("/yes", root["ts"])
    assert b.intake.stored != no.message_id


async def test_other_apps_buttons_are_none_of_ours(b: Bench) -> None:
    async with b.running():
        body: dict[str, Any] = {"type": "block_actions", "user": {"id": "U1"}}
        body["channel"] = {"id": "C1"}
        body["actions"] = [{"action_id": "x", "value": "/stop", "action_ts": "1.1"}]
        b.slack.push("interactive", body)
        await b.slack.settled()
    assert not b.intake.messages


async def test_a_slash_command_says_what_stands_behind_it() -> None:
    async with bench(slash_command="/nanobot") as b:
        async with b.running():
            for text in ("stop", "/model x y", "  "):
                b.slack.command(text, "C1")
            b.slack.command("stop", name="/other")
            messages = await received(b, 3)
        assert [message.text for message in messages] == ["/stop", "/model x y", "/help"]
        assert len({message.dedupe_key for message in messages}) == 3
        assert messages[0].sender.name == "Ann"
        assert len({cursor for _, cursor in b.intake.batches}) == 1


# Files, names, text.


async def test_files_come_as_attachments_that_can_be_fetched(b: Bench) -> None:
    file = b.slack.keep_file("cat.png", b"meow", "image/png")
    outside = {"id": "F9", "mode": "hidden_by_limit", "name": None, "size": None}
    async with b.running():
        b.slack.say("D1", "", subtype="file_share", files=[file, outside, None])
        (message,) = await received(b)
    picture, hidden = message.attachments
    assert (picture.kind, picture.name, picture.mime) == ("image", "cat.png", "image/png")
    assert picture.size == 4
    assert await b.channel.fetch(picture, 100) == b"meow"
    assert (hidden.kind, hidden.error) == ("document", "Slack does not keep this file any more")


async def test_a_clip_is_recorded_by_its_sender_unless_another_person_made_it(b: Bench) -> None:
    clip = b.slack.keep_file("clip.m4a", b"hello", "audio/mp4") | {"subtype": "slack_audio"}
    async with b.running():
        for file in (clip | {"user": "U1"}, clip | {"user": "U2"}, clip, clip | {"user": 7}):
            b.slack.say("D1", "", subtype="file_share", files=[file])
        b.slack.say("D1", "", subtype="file_share", files=[clip | {"subtype": "", "user": "U1"}])
        messages = await received(b, 5)
    recorded = [message.attachments[0].recorded for message in messages]
    assert recorded == [True, False, False, False, False]


async def test_a_shared_message_comes_with_its_text(b: Bench) -> None:
    async with b.running():
        share = {"is_share": True, "author_name": "Bob", "text": "the <https://x.org|plan>"}
        b.slack.say("D1", "see:", attachments=[share])
        (message,) = await received(b)
    assert message.text == "see:\n[shared message from Bob: the plan (https://x.org)]"
    assert message.tainted


TABLE = {
    "type": "table",
    "rows": [
        [{"type": "raw_text", "text": "Item"}, {"type": "raw_text", "text": "<a|b>"}],
        [
            {
                "type": "rich_text",
                "elements": [
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "A & "},
                            {"type": "user", "user_id": "U2"},
                        ],
                    }
                ],
            },
            {"type": "raw_number", "value": 1200},
        ],
    ],
}
PASTED = {"id": 1, "blocks": [TABLE], "fallback": "[no preview available]"}
ROWS = "| Item | <a\\|b> |\n| A & @Bob | 1200 |"


@pytest.mark.parametrize("where", [{"attachments": [PASTED]}, {"blocks": [TABLE]}], ids=str)
@pytest.mark.parametrize("text", ["which one?", ""])
async def test_a_table_that_a_person_pasted_is_read(
    b: Bench, where: dict[str, Any], text: str
) -> None:
    async with b.running():
        b.slack.say("D1", text, **where)
        (message,) = await received(b)
    assert message.text == f"{text}\n{ROWS}".strip()
    assert not message.tainted


async def test_a_shared_message_comes_with_its_files_and_its_tables(b: Bench) -> None:
    file = {"id": "F9", "name": "a.png", "mimetype": "image/png", "url_private": "https://x.y/a"}
    inner = {"message": {"blocks": [TABLE]}}
    async with b.running():
        for share in (
            {"is_share": True, "files": [file, None], "fallback": "[no preview available]"},
            {"is_share": True, "text": "look", "message_blocks": [inner], "files": [file]},
            {"is_reply_unfurl": True, "message_blocks": [inner]},
        ):
            b.slack.say("D1", "", attachments=[share], files=[])
        messages = await received(b, 3)
    assert [message.text for message in messages] == [
        "[shared message]",
        f"[shared message: look\n{ROWS}]",
        f"[shared message: {ROWS}]",
    ]
    assert [len(message.attachments) for message in messages] == [1, 1, 0]
    assert all(message.tainted for message in messages)


ALERT = {
    "title": "CPU",
    "text": "over *90 %*",
    "fields": [{"title": "host", "value": "nas"}],
    "footer": "monitor",
    "fallback": "never",
}
SECTIONS = [
    {"type": "header", "text": {"type": "plain_text", "text": "Build <7>"}},
    {"type": "section", "fields": [{"type": "mrkdwn", "text": "*failed*"}]},
    {"type": "context", "elements": [{"type": "image", "alt_text": "red"}]},
    {"type": "new", "text": "words", "elements": [{"type": "newer", "text": "more"}]},
]


@pytest.mark.parametrize(
    ("root", "quote"),
    [
        ({"attachments": [ALERT]}, "CPU\nover *90 %*\nhost: nas\nmonitor"),
        ({"attachments": [{"fallback": "old form"}]}, "old form"),
        ({"blocks": SECTIONS}, "Build <7>\n*failed*\nred\nwords\nmore"),
        ({"text": "short", "blocks": SECTIONS}, "short"),
    ],
    ids=str,
)
async def test_a_bots_message_is_quoted_whatever_it_is_written_in(
    b: Bench, root: dict[str, Any], quote: str
) -> None:
    async with b.running():
        said = b.slack.say("C1", root.pop("text", ""), user="", bot_id="BCI", **root)
        b.slack.say("C1", "<@UBOT> why?", thread_ts=said["ts"])
        message, _ = await received(b, 2)
    assert (message.quote, message.tainted) == (quote, True)


def test_blocks_without_end_are_no_blocks() -> None:
    deep: dict[str, Any] = {"type": "table"}
    for _ in range(2000):
        deep = {"type": "section", "elements": [deep]}
    assert words_of([deep]) == ""


async def test_a_channel_with_a_new_id_is_the_same_chat(b: Bench) -> None:
    moved = {"type": "channel_id_changed", "old_channel_id": "G9", "new_channel_id": "C1"}
    async with b.running():
        b.slack.event(moved | {"event_ts": "1700000000.000900"})
        b.slack.event({"type": "channel_id_changed", "old_channel_id": "G9"})
        b.slack.say("C1", "still here")
        await received(b)
    assert b.intake.moves == [("G9", "C1")]


async def test_names_are_asked_for_once_and_unknown_ones_cost_nothing(b: Bench) -> None:
    async with b.running():
        for _ in range(3):
            b.slack.say("D1", "hi <@U2> and <@U404>")
        messages = await received(b, 3)
    assert {message.text for message in messages} == {"hi @Bob and @U404"}
    assert len(b.slack.calls_of("users.info")) == 3


async def test_a_message_comes_with_the_language_of_its_sender(b: Bench) -> None:
    b.slack.locales = {"U1": "zh-CN"}
    async with b.running():
        b.slack.say("D1", "hi", user="U1")
        b.slack.say("D1", "hello", user="U404")
        first, other = await received(b, 2)
    assert (first.sender.id, first.language) == ("U1", "zh-CN")
    assert (other.sender.id, other.language) == ("U404", "")


async def test_a_message_does_not_wait_for_names_that_do_not_come(b: Bench) -> None:
    b.slack.fail("users.info", drop="never")
    async with b.running():
        b.slack.say("D1", "hi <@U2>")
        (message,) = await received(b)
    assert (message.text, message.sender.name) == ("hi @U2", "")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a &lt;b&gt; &amp;amp;", "a <b> &amp;"),
        ("<@U1> <@U9|carl> <@U404>", "@Ann @carl @U404"),
        ("<#C1|general> <#C2> <#C3|>", "#general #C2 #C3"),
        ("<https://x.org/a?b=1&amp;c=2>", "https://x.org/a?b=1&c=2"),
        ("<https://x.org|the site>", "the site (https://x.org)"),
        ("<http://x.org|x.org>", "x.org"),
        ("<mailto:a@x.org|a@x.org>", "a@x.org"),
        ("<!here> <!channel> <!subteam^S1|@devs> <!subteam^S1>", "@here @channel @devs @group"),
        ("<!date^1^{date}|today>", "today"),
        ("*bold* _it_ `code`", "*bold* _it_ `code`"),
        ("1 < 2 > 0 <>", "1 < 2 > 0 <>"),
        ("a\r\nb\x00", "a\nb"),
    ],
)
def test_mrkdwn_becomes_plain_text(text: str, plain: str) -> None:
    assert to_plain(text, {"U1": "Ann"}) == plain


@given(st.text())
def test_escaping_is_undone_and_nothing_escaped_is_a_reference(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not mentions(escape(text), "UBOT")
    assert "<" not in escape(text)


@pytest.mark.parametrize(
    ("text", "meant", "rest"),
    [
        ("<@UBOT> hi", True, "hi"),
        ("hi <@UBOT|nano>, you", True, "hi , you"),
        ("`<@UBOT>` is my name", False, "`<@UBOT>` is my name"),
        ("```\n<@UBOT>\n``` <@UBOT> see", True, "```\n<@UBOT>\n``` see"),
        ("<@UBOT>", True, "<@UBOT>"),
        ("<@UBOTX> hi", False, "<@UBOTX> hi"),
    ],
)
def test_a_mention_counts_outside_code_only(text: str, meant: bool, rest: str) -> None:
    assert mentions(text, "UBOT") == meant
    assert without_mention(text, "UBOT") == rest


FIELDS = [
    "type",
    "subtype",
    "ts",
    "user",
    "text",
    "channel",
    "message",
    "edited",
    "files",
    "actions",
    "action_id",
    "value",
    "action_ts",
    "id",
    "container",
    "message_ts",
    "attachments",
    "previous_message",
    "thread_ts",
    "bot_id",
    "is_share",
    "blocks",
    "message_blocks",
    "elements",
    "rows",
    "fields",
    "type",
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["1700000000.000100", "table", "link", "user", "rich_text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=8,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_whatever_comes_is_a_message_or_nothing_or_a_bad_event(value: object) -> None:
    body = value if isinstance(value, dict) else {"event": value}
    me = BotUser("UBOT", "BBOT", "nano")
    for convert in (
        lambda: user_message(value, me, "C1"),
        lambda: button_press(body, "slack"),
        lambda: command_message(body, "slack", 1.0),
    ):
        try:
            result = convert()
        except BadEvent:
            continue
        if isinstance(result, UserMessage):
            inbound(result, "slack", me, {}, ThreadContext(quote="q"), opens=True)


async def test_a_connection_is_closed_when_nobody_receives_any_more(b: Bench) -> None:
    async with b.running():
        b.slack.say("D1", "hi")
        await received(b)
    await b.slack.until(lambda: b.slack.connections == 0)
