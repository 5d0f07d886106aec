"""What people send on Telegram arrives as they meant it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
import telegram
from hypothesis import given
from hypothesis import strategies as st

from nanobot.messages import Address, InboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.text import clean
from nanobot_channels.telegram.messages import target_of
from nanobot_channels.telegram.types import BotUser, Content
from nanobot_channels.telegram.unread import unknown_fields
from nanobot_channels.telegram.updates import QUOTE_LENGTH, BadUpdate, needs_me, to_inbound
from tests.doubles.telegram_rules import entities_of

TYPES = st.sampled_from(["code", "pre", "mention", "bot_command", "text_link", "bold", "new"])
NUMBERS = st.integers(-3, 30) | st.integers()
ME = BotUser(id=42, username="nano_bot")
WHOLE: dict[str, Any] = {
    "message_id": 5,
    "date": 1_700_000_000,
    "edit_date": 9,
    "chat": {"id": -1, "type": "group"},
    "from": {"id": 7},
    "sender_chat": {"id": 8},
    "message_thread_id": 3,
    "text": "hi",
    "is_topic_message": True,
    "caption": "c",
    "forward_origin": {},
    "quote": {"text": "q"},
    "entities": [{"type": "mention", "offset": 0, "length": 2}],
    "caption_entities": [],
    "reply_to_message": {"message_id": 4, "chat": {"id": -1}},
    "external_reply": {},
    "photo": [{"file_id": "F"}],
    "sticker": {"file_id": "S"},
    "media_group_id": "1",
    "location": {"latitude": 1, "longitude": 2},
    "venue": None,
    "contact": {},
    "poll": {},
    "dice": {},
    "game": {},
    "checklist": {},
    "story": {},
    "document": {"file_id": "D"},
}
NOW = 1_700_000_777.0
GROUP = {"id": -9, "type": "supergroup", "title": "G"}
PERSON = {"id": 7, "is_bot": False, "first_name": "Ann", "last_name": "Lee"}


def inbound(*, edited: bool = False, **fields: Any) -> InboundMessage | None:
    message = {"message_id": 5, "date": 1_700_000_000, "chat": {"id": 1, "type": "private"}}
    message |= {"from": PERSON} | fields
    return to_inbound({"edited_message" if edited else "message": message}, "telegram", ME, NOW)


def text_of(**fields: Any) -> str | None:
    message = inbound(**fields)
    return message.text if message else None


def certain(**fields: Any) -> InboundMessage:
    message = inbound(**fields)
    assert message is not None
    return message


def in_group(text: str, **fields: Any) -> InboundMessage:
    return certain(**{"text": text, "chat": GROUP, "entities": entities_of(text)} | fields)


def test_a_text_arrives_with_all_that_is_known_about_it() -> None:
    message = inbound(
        text="hi",
        message_thread_id=3,
        is_topic_message=True,
        media_group_id="album",
        reply_to_message={"message_id": 4, "chat": {"id": 1}},
    )
    assert message is not None
    assert str(message.address) == "telegram:1:3"
    assert (message.message_id, message.dedupe_key, message.reply_to) == ("5", "5", "4")
    assert (message.sender.id, message.sender.name) == ("7", "Ann Lee")
    assert (message.sent_at, message.group_id) == (1_700_000_000, "album")


def test_a_thread_that_is_no_topic_is_no_address() -> None:
    message = inbound(text="hi", message_thread_id=3)
    assert message is not None
    assert message.address.thread_id is None


def test_an_edit_is_a_message_of_its_own_that_names_the_original() -> None:
    original = certain(text="hi")
    first = certain(edited=True, text="hi!", edit_date=1_700_000_009)
    assert first.edit_of == original.dedupe_key
    assert first.message_id == "5"
    again = certain(edited=True, text="hi!", edit_date=1_700_000_009)
    second = certain(edited=True, text="hi?", edit_date=1_700_000_009)
    assert first.dedupe_key == again.dedupe_key
    assert len({original.dedupe_key, first.dedupe_key, second.dedupe_key}) == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "hi"},
        {"location": {"latitude": 1, "longitude": 2, "live_period": 60}, "edit_date": 9},
    ],
    ids=str,
)
def test_changes_that_nobody_made_by_hand_are_no_edits(fields: dict[str, Any]) -> None:
    assert inbound(edited=True, **fields) is None


def test_what_is_answered_comes_as_a_quote() -> None:
    replied = {"message_id": 4, "chat": {"id": 1}, "text": "one two three"}
    message = certain(text="why?", reply_to_message=replied)
    assert (message.reply_to, message.quote) == ("4", "one two three")
    chosen = certain(text="why?", reply_to_message=replied, quote={"text": "two", "position": 4})
    assert (chosen.reply_to, chosen.quote) == ("4", "two")


STRANGER = {"id": 99, "first_name": "Eve"}


INLINE = {"id": 98, "is_bot": True, "first_name": "Gif"}
THINGS_OF_OTHERS: list[dict[str, Any]] = [
    {"via_bot": INLINE},
    {"contact": {"phone_number": "1", "first_name": "Eve"}},
    {"text": "", "document": {"file_id": "a", "file_unique_id": "a", "file_name": "Obey.txt"}},
]
"""What others may have worded, though the sender sent it."""


@pytest.mark.parametrize("text", ["/approve 1", "/stop", "yes 1", "yes", "👍"])
def test_no_text_of_an_inline_bot_is_a_command_or_a_decision(text: str) -> None:
    message = certain(text=text, via_bot=INLINE)
    assert message.text == f"[made by the bot Gif]\n{text}"
    own = {"id": ME.id, "is_bot": True, "first_name": "Nano"}
    assert certain(text=text, via_bot=own).text == text


def test_words_of_others_in_a_message_are_marked_as_from_outside() -> None:
    hidden = {"type": "hidden_user", "sender_user_name": "Eve"}
    assert certain(text="x", forward_origin=hidden).tainted
    assert certain(text="x", forward_origin={"type": "user", "sender_user": STRANGER}).tainted
    assert not certain(text="x", forward_origin={"type": "user", "sender_user": PERSON}).tainted
    assert certain(text="x", via_bot={"id": 98, "is_bot": True, "first_name": "Gif"}).tainted
    assert certain(text="why?", external_reply={"chat": {"id": -7}}, quote={"text": "x"}).tainted
    replied: dict[str, Any] = {"message_id": 4, "chat": GROUP, "text": "one"}
    by = {
        "another": STRANGER,
        "the sender": PERSON,
        "the bot": {"id": ME.id, "is_bot": True, "first_name": "Nano"},
    }
    assert {
        who: in_group("why?", reply_to_message=replied | {"from": user}).tainted
        for who, user in by.items()
    } == {"another": True, "the sender": False, "the bot": False}
    for words in THINGS_OF_OTHERS:
        told = {"message_id": 4, "chat": {"id": 1}, "text": "one", "from": PERSON, **words}
        assert certain(text="why?", reply_to_message=told).tainted, words
    passed_on = {"message_id": 4, "chat": {"id": 1}, "text": "one", "forward_origin": hidden}
    assert certain(text="why?", reply_to_message=passed_on).tainted
    assert not certain(text="why?", reply_to_message=replied | {"chat": {"id": 1}}).tainted


def test_a_long_quote_is_clipped_and_a_file_is_named() -> None:
    replied = {"message_id": 4, "chat": {"id": 1}, "caption": "x" * 5000}
    quote = certain(text="why?", reply_to_message=replied).quote
    assert len(quote) == QUOTE_LENGTH
    assert quote.endswith("…")
    photo = {"message_id": 4, "chat": {"id": 1}, "photo": [{"file_id": "F"}]}
    assert certain(text="why?", reply_to_message=photo).quote == "[image photo-4.jpg]"


def test_an_answer_to_another_chat_has_a_quote_and_no_number() -> None:
    away: dict[str, Any] = {"chat": {"id": -77}, "message_id": 4, "origin": {"type": "channel"}}
    message = certain(text="why?", external_reply=away, quote={"text": "two"})
    assert (message.reply_to, message.quote) == (None, "two")
    here = certain(text="why?", external_reply=away | {"chat": {"id": 1}})
    assert here.reply_to == "4"


RICH = {"blocks": [{"type": "heading", "size": 2, "text": "Plan"}]}


@pytest.mark.parametrize(
    ("answered", "quote"),
    [
        ({"rich_message": RICH}, "## Plan"),
        ({"photo": [{"file_id": "F"}]}, "[image photo-0.jpg]"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "[dice 🎲 shows 4]"),
        ({"invoice": {"title": "Boat", "description": "red"}}, "[invoice: Boat: red]"),
    ],
    ids=str,
)
def test_an_answer_to_what_is_no_text_quotes_it(answered: dict[str, Any], quote: str) -> None:
    here = {"message_id": 2, "chat": {"id": 1}, "from": {"id": 42, "is_bot": True}} | answered
    assert certain(text="?", reply_to_message=here).quote == quote.replace("-0", "-2")
    away = certain(text="?", external_reply=answered)
    assert (away.quote, away.tainted) == (quote, True)


def test_the_message_that_opened_a_topic_is_not_what_is_answered() -> None:
    opened = {"message_id": 3, "chat": GROUP, "forum_topic_created": {"name": "T"}}
    message = in_group("hi", message_thread_id=3, is_topic_message=True, reply_to_message=opened)
    assert (message.reply_to, message.quote, message.address.thread_id) == (None, "", "3")


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({"type": "user", "sender_user": PERSON}, "[forwarded from Ann Lee]"),
        ({"type": "hidden_user", "sender_user_name": "Bo\nB"}, "[forwarded from Bo B]"),
        ({"type": "chat", "sender_chat": {"id": -4, "title": "Club"}}, "[forwarded from Club]"),
        (
            {"type": "channel", "chat": {"id": -4, "title": "News"}, "author_signature": "Ed"},
            "[forwarded from News (Ed)]",
        ),
        ({"type": "a future one"}, "[forwarded from somebody]"),
    ],
    ids=str,
)
def test_what_is_forwarded_says_from_whom_and_is_no_command(
    origin: dict[str, Any], line: str
) -> None:
    assert text_of(text="/stop", forward_origin=origin) == f"{line}\n/stop"


@pytest.mark.parametrize(("old", "group"), [(False, False), (True, True)])
def test_a_press_says_what_the_button_stands_for(*, old: bool, group: bool) -> None:
    shown: dict[str, Any] = {"message_id": 8, "date": 0, "chat": GROUP if group else {"id": 1}}
    if not old:
        shown |= {"date": 1_600_000_000, "text": "Which?", "from": {"id": 42, "is_bot": True}}
    press = {"id": "77", "from": PERSON, "data": "/approve 7", "message": shown}
    message = to_inbound({"callback_query": press}, "telegram", ME, NOW)
    assert message is not None
    assert (message.text, message.pressed, message.reply_to) == ("/approve 7", True, "8")
    assert (message.dedupe_key, message.sender.id, message.sent_at) == ("press:77", "7", NOW)
    assert (message.group, message.addressed) == (group, True)


def test_a_message_without_sender_type_date_or_flags_still_arrives() -> None:
    update = {"message": {"message_id": 5, "chat": {"id": 1}, "from": {"id": 7}, "text": "hi"}}
    message = to_inbound(update, "telegram", None, NOW)
    assert message is not None
    assert message.text == "hi"


def test_text_that_no_database_takes_is_cleaned() -> None:
    assert text_of(text="a\x00b\ud800c\r\nd") == "ab\ufffdc\nd"


def test_hidden_link_targets_are_written_out() -> None:
    link = {"type": "text_link", "offset": 3, "length": 4, "url": "https://x.org"}
    assert text_of(text="😀 here!", entities=[link]) == "😀 here (https://x.org)!"


def test_code_arrives_as_code() -> None:
    text = "😀 run ls -l: x = 1 ok"
    entities = [
        {"type": "code", "offset": 7, "length": 5},
        {"type": "pre", "offset": 14, "length": 5, "language": "py"},
    ]
    assert text_of(text=text, entities=entities) == ("😀 run `ls -l`: \n```py\nx = 1\n```\n ok")


def test_text_that_runs_backwards_is_set_right() -> None:
    assert text_of(text="pay \u202e001 \u202cnow") == "pay 001 \u202cnow"
    assert certain(text="x", **{"from": PERSON | {"first_name": "A\u202eB\n"}}).sender.name == (
        "AB Lee"
    )


def test_a_message_of_nothing_readable_arrives_empty_so_that_it_can_be_answered() -> None:
    assert text_of(text="\x00\x01") == ""
    assert text_of(text=" \n") == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"new_chat_members": [PERSON]},
        {"pinned_message": {"message_id": 1, "chat": {"id": 1}, "text": "hi"}},
        {"left_chat_member": PERSON},
        {"new_chat_title": "x"},
        {"text": "hi", "is_automatic_forward": True, "sender_chat": {"id": -3}},
        {"text": "hi", "from": PERSON | {"is_bot": True}},
        {"some_future_content": {"a": 1}, "chat": GROUP},
        {"some_future_content": {"a": 1}, "from": PERSON | {"is_bot": True}},
    ],
    ids=str,
)
def test_service_messages_and_bots_are_skipped(fields: dict[str, Any]) -> None:
    assert inbound(**fields) is None


def test_a_person_alone_with_the_bot_is_told_that_new_content_was_not_read() -> None:
    message = certain(hologram={"file_id": "/stop"}, aura=1)
    assert message.text == "[a message that cannot be read: aura, hologram]"
    assert text_of(hologram={}, text="look") == "look"


def test_every_field_of_a_message_that_the_library_documents_is_known() -> None:
    slots = {name for name in telegram.Message.__slots__ if not name.startswith("_")}
    fields = {"from" if name == "from_user" else name for name in slots}
    assert unknown_fields(dict.fromkeys(fields)) == []


# Content has its own sample below; everything else is a mark or a service message.
NO_CONTENT = {name for name in telegram.Message.__slots__ if not name.startswith("_")}
NO_CONTENT -= {*Content.__struct_encode_fields__, "text", "caption", "chat", "from_user"}
NO_CONTENT -= {"date", "edit_date", "message_id", "entities", "caption_entities"}


@pytest.mark.parametrize("field", sorted(NO_CONTENT))
def test_no_mark_and_no_service_message_is_taken_for_what_a_person_says(field: str) -> None:
    values: list[Any] = [{}, [], 1, "x", True]
    for value in values:
        with suppress(BadUpdate):
            assert inbound(**{field: value}) is None


def test_a_persons_messages_to_a_channel_are_a_thread_that_is_answered_there() -> None:
    chat = {"id": -100, "type": "supergroup", "is_direct_messages": True}
    message = certain(text="hi", chat=chat, direct_messages_topic={"topic_id": 77})
    assert message.address == Address("telegram", "-100", "direct-77")
    target = target_of(message.address, OutboundPart(text="hello"))
    assert target == {"chat_id": "-100", "direct_messages_topic_id": "77"}


REPLY = {"message_id": 2, "chat": {"id": -9}, "from": {"id": 42, "is_bot": True}}


@pytest.mark.parametrize(
    ("text", "fields", "arrives", "addressed"),
    [
        ("hello all", {}, "hello all", False),
        ("@nano_bot hello", {}, "hello", True),
        ("@nano_bot, hello", {}, "hello", True),
        ("hey @Nano_Bot you", {}, "hey you", True),
        ("😀 @nano_bot 😀", {}, "😀 😀", True),
        ("@nano_bot", {}, "@nano_bot", True),
        ("@nano_bots hello", {}, "@nano_bots hello", False),
        ("write to me@nano_bot.org", {}, "write to me@nano_bot.org", False),
        ("/stop@nano_bot now", {}, "/stop now", True),
        ("so /stop@other_bot helps", {}, "so /stop@other_bot helps", False),
        ("/stop@other_bot or @nano_bot", {}, "/stop@other_bot or", True),
        ("/stop", {}, "/stop", False),
        ("thanks", {"reply_to_message": REPLY}, "thanks", True),
        ("thanks", {"reply_to_message": REPLY | {"from": {"id": 8}}}, "thanks", False),
        (
            "in a topic the bot opened",
            {"message_thread_id": 2, "is_topic_message": True, "reply_to_message": REPLY},
            "in a topic the bot opened",
            False,
        ),
        (
            "Nano hello",
            {"entities": [{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 42}}]},
            "Nano hello",
            True,
        ),
        (
            "Ann hello",
            {"entities": [{"type": "text_mention", "offset": 0, "length": 3, "user": {"id": 7}}]},
            "Ann hello",
            False,
        ),
        (
            "say @nano_bot",
            {"entities": [{"type": "code", "offset": 4, "length": 9}]},
            "say `@nano_bot`",
            False,
        ),
        (
            "@nano_bot x",
            {
                "entities": [
                    {"type": "pre", "offset": 0, "length": 11},
                    {"type": "mention", "offset": 0, "length": 9},
                ]
            },
            "```\n@nano_bot x\n```",
            False,
        ),
        ("nothing @nano_bot marked", {"entities": []}, "nothing @nano_bot marked", False),
    ],
    ids=str,
)
def test_in_groups_everything_arrives_and_says_whether_the_bot_is_meant(
    text: str, fields: dict[str, Any], arrives: str, addressed: bool
) -> None:
    message = in_group(text, **fields)
    assert (message.text, message.addressed, message.group) == (arrives, addressed, True)


@pytest.mark.parametrize("text", ["/stop@other_bot", "/stop@nano_bots", "/new@Other_bot now"])
def test_a_groups_command_to_another_bot_does_not_arrive(text: str) -> None:
    """Where everything is heard (`groups = "all"`) it would be obeyed here, too."""
    assert inbound(text=text, chat=GROUP, entities=entities_of(text)) is None
    assert certain(text=text, entities=entities_of(text)).text == text


def test_alone_with_the_bot_everything_is_for_it() -> None:
    message = certain(text="hello")
    assert (message.addressed, message.group) == (True, False)


def test_a_mention_in_a_caption_counts() -> None:
    caption = "@nano_bot what is it?"
    message = certain(
        photo=[{"file_id": "F"}], caption=caption, caption_entities=entities_of(caption), chat=GROUP
    )
    assert (message.text, message.addressed) == ("what is it?", True)


@pytest.mark.parametrize("stand_in", [None, {"id": 1087968824, "is_bot": True}], ids=str)
def test_an_anonymous_sender_is_the_chat_it_speaks_for(stand_in: dict[str, Any] | None) -> None:
    fields: dict[str, Any] = {"from": stand_in, "sender_chat": {"id": -3, "title": "News"}}
    message = certain(text="hi", **fields)
    assert (message.sender.id, message.sender.name) == ("-3", "News")


def test_an_update_of_the_wrong_shape_is_told_apart_from_one_that_is_not_for_the_bot() -> None:
    with pytest.raises(BadUpdate, match="chat"):
        to_inbound({"message": {"message_id": 1}}, "telegram", ME, NOW)
    assert to_inbound({"poll": {}}, "telegram", ME, NOW) is None
    assert to_inbound({"channel_post": {"message_id": 1}}, "telegram", ME, NOW) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(sorted(WHOLE)) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(sorted(WHOLE)), JSON, max_size=4), st.booleans())
def test_whatever_a_field_holds_it_is_a_message_or_none_or_a_bad_update(
    changed: dict[str, Any], edited: bool
) -> None:
    update = {"edited_message" if edited else "message": WHOLE | changed}
    needs_me(update)
    try:
        message = to_inbound(update, "telegram", ME, NOW)
    except BadUpdate:
        return
    if message:
        msgspec.json.encode(message)


@given(st.text(), st.lists(st.builds(dict, type=TYPES, offset=NUMBERS, length=NUMBERS), max_size=5))
def test_whatever_is_marked_no_letter_of_a_text_is_lost(
    text: str, entities: list[dict[str, Any]]
) -> None:
    read = in_group(f"x{text}", entities=entities).text
    letters = [char for char in clean(f"x{text}") if char.isalpha()]
    left = iter(read)
    assert "@" in text or all(char in left for char in letters)


def test_ten_megabytes_of_caption_are_read() -> None:
    caption = "ab " * 3_500_000
    marks = [{"type": "code", "offset": 30 * n, "length": 2} for n in range(100)]
    message = certain(photo=[{"file_id": "F"}], caption=caption, caption_entities=marks)
    assert len(message.text) > 10_000_000
