"""What people send on Telegram arrives as they meant it."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.bus.events import Attachment, InboundMessage
from nanobot_channels._telegram_updates import BadUpdate, Me, to_inbound

ME = Me(id=42, username="nano_bot")
PERSON = {"id": 7, "is_bot": False, "first_name": "Ann", "last_name": "Lee"}


def inbound(*, edited: bool = False, **fields: Any) -> InboundMessage | None:
    message = {"message_id": 5, "date": 1_700_000_000, "chat": {"id": 1, "type": "private"}}
    message |= {"from": PERSON} | fields
    return to_inbound({"edited_message" if edited else "message": message}, "telegram", ME)


def text_of(**fields: Any) -> str | None:
    message = inbound(**fields)
    return message.text if message else None


def in_group(text: str, **fields: Any) -> str | None:
    return text_of(text=text, chat={"id": -9, "type": "supergroup", "title": "G"}, **fields)


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


def test_an_edit_is_a_message_of_its_own() -> None:
    message = inbound(edited=True, text="hi!", edit_date=1_700_000_009)
    assert message is not None
    assert message.dedupe_key == "edit:5:1700000009"
    assert message.message_id == "5"


def test_a_message_without_sender_type_date_or_flags_still_arrives() -> None:
    update = {"message": {"message_id": 5, "chat": {"id": 1}, "from": {"id": 7}, "text": "hi"}}
    message = to_inbound(update, "telegram", None)
    assert message is not None
    assert message.text == "hi"


def test_text_that_no_database_takes_is_cleaned() -> None:
    assert text_of(text="a\x00b\ud800c\r\nd") == "ab\ufffdc\nd"


def test_hidden_link_targets_are_written_out() -> None:
    link = {"type": "text_link", "offset": 3, "length": 4, "url": "https://x.org"}
    assert text_of(text="😀 here!", entities=[link]) == "😀 here (https://x.org)!"


FILE: dict[str, Any] = {"file_id": "F", "file_unique_id": "U"}
DOCUMENT = FILE | {"file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 122_880}


@pytest.mark.parametrize(
    ("fields", "text", "kind"),
    [
        (
            {"document": DOCUMENT, "caption": "read this"},
            "[document a.pdf, 120 KB]\nread this",
            "document",
        ),
        ({"document": FILE}, "[document]", "document"),
        ({"voice": FILE | {"duration": 3, "file_size": 900}}, "[voice]", "voice"),
        (
            {"audio": FILE | {"title": "Song", "file_size": 3_500_000}},
            "[audio Song, 3.3 MB]",
            "audio",
        ),
        (
            {"video": FILE | {"file_name": "v.mp4", "file_size": 9}},
            "[video v.mp4, 9 bytes]",
            "video",
        ),
        ({"video_note": FILE}, "[video note]", "video_note"),
        ({"sticker": FILE | {"emoji": "😀", "width": 5}}, "[sticker 😀]", "sticker"),
        ({"animation": FILE, "document": DOCUMENT}, "[animation]", "animation"),
    ],
    ids=str,
)
def test_files_arrive_as_references_with_a_line_that_says_so(
    fields: dict[str, Any], text: str, kind: str
) -> None:
    message = inbound(**fields)
    assert message is not None
    assert message.text == text
    assert [(item.kind, item.ref) for item in message.attachments] == [(kind, "F")]


def test_of_a_photo_the_largest_size_is_taken() -> None:
    sizes = [FILE | {"file_id": str(width), "width": width} for width in (90, 1280, 320)]
    message = inbound(photo=sizes, caption="look")
    assert message is not None
    assert message.text == "[photo]\nlook"
    assert message.attachments == (Attachment(kind="photo", ref="1280"),)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"location": {"latitude": 52.5, "longitude": 13}}, "[location 52.500000, 13.000000]"),
        (
            {
                "venue": {
                    "location": {"latitude": 1, "longitude": 2},
                    "title": "X",
                    "address": "Y",
                },
                "location": {"latitude": 1, "longitude": 2},
            },
            "[venue X, Y, 1.000000, 2.000000]",
        ),
        ({"contact": {"phone_number": "+49", "first_name": "Bo"}}, "[contact Bo, +49]"),
        (
            {"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}},
            "[poll Tea? yes / no]",
        ),
    ],
    ids=str,
)
def test_places_contacts_and_polls_arrive_as_text(fields: dict[str, Any], text: str) -> None:
    assert text_of(**fields) == text


@pytest.mark.parametrize(
    "fields",
    [
        {"new_chat_members": [PERSON]},
        {"text": " \n"},
        {"text": "hi", "from": PERSON | {"is_bot": True}},
        {"some_future_content": {"a": 1}},
    ],
    ids=str,
)
def test_service_messages_empty_ones_and_bots_are_skipped(fields: dict[str, Any]) -> None:
    assert inbound(**fields) is None


@pytest.mark.parametrize(
    ("text", "fields", "arrives"),
    [
        ("hello all", {}, None),
        ("@nano_bot hello", {}, "hello"),
        ("hey @Nano_Bot you", {}, "hey you"),
        ("@nano_bot", {}, "@nano_bot"),
        ("@nano_bots hello", {}, None),
        ("write to me@nano_bot.org", {}, None),
        ("/stop@nano_bot now", {}, "/stop now"),
        ("/stop@other_bot", {}, None),
        ("/stop", {}, None),
        (
            "thanks",
            {"reply_to_message": {"message_id": 2, "chat": {"id": -9}, "from": {"id": 42}}},
            "thanks",
        ),
        (
            "thanks",
            {"reply_to_message": {"message_id": 2, "chat": {"id": -9}, "from": {"id": 8}}},
            None,
        ),
        (
            "in a topic the bot opened",
            {
                "message_thread_id": 2,
                "is_topic_message": True,
                "reply_to_message": {"message_id": 2, "chat": {"id": -9}, "from": {"id": 42}},
            },
            None,
        ),
        (
            "Nano hello",
            {"entities": [{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 42}}]},
            "Nano hello",
        ),
        (
            "Ann hello",
            {"entities": [{"type": "text_mention", "offset": 0, "length": 3, "user": {"id": 7}}]},
            None,
        ),
    ],
    ids=str,
)
def test_in_groups_only_what_is_meant_for_the_bot_arrives(
    text: str, fields: dict[str, Any], arrives: str | None
) -> None:
    assert in_group(text, **fields) == arrives


def test_a_mention_in_a_caption_counts() -> None:
    group = {"id": -9, "type": "group"}
    assert (
        text_of(photo=[FILE], caption="@nano_bot what is it?", chat=group) == "[photo]\nwhat is it?"
    )


def test_an_anonymous_sender_is_the_chat_it_speaks_for() -> None:
    fields: dict[str, Any] = {"from": None, "sender_chat": {"id": -3, "title": "News"}}
    message = inbound(text="hi", **fields)
    assert message is not None
    assert (message.sender.id, message.sender.name) == ("-3", "News")


def test_an_update_of_the_wrong_shape_is_told_apart_from_one_that_is_not_for_the_bot() -> None:
    with pytest.raises(BadUpdate, match="chat"):
        to_inbound({"message": {"message_id": 1}}, "telegram", ME)
    assert to_inbound({"poll": {}}, "telegram", ME) is None
