"""What people send on Telegram besides text arrives as files and as words."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.messages import Attachment, InboundMessage
from nanobot_channels.telegram.types import BotUser
from nanobot_channels.telegram.updates import to_inbound

FILE: dict[str, Any] = {"file_id": "F", "file_unique_id": "U"}


def sent(**fields: Any) -> InboundMessage:
    message = {"message_id": 5, "date": 1, "chat": {"id": 1, "type": "private"}, "from": {"id": 7}}
    inbound = to_inbound({"message": message | fields}, "telegram", BotUser(id=42), 0.0)
    assert inbound is not None
    return inbound


def file(kind: str, name: str, mime: str, size: int = 0, *, recorded: bool = False) -> Attachment:
    return Attachment(kind=kind, ref="F", name=name, mime=mime, size=size, recorded=recorded)


PDF = FILE | {"file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 122_880}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"document": PDF}, file("document", "a.pdf", "application/pdf", 122_880)),
        ({"document": FILE}, file("document", "document-5", "")),
        (
            {"document": FILE | {"mime_type": "image/png", "file_name": "x.png"}},
            file("image", "x.png", "image/png"),
        ),
        (
            {"voice": FILE | {"duration": 3, "file_size": 900}},
            file("audio", "voice-5.ogg", "audio/ogg", 900, recorded=True),
        ),
        (
            {"audio": FILE | {"title": "Song/1", "performer": "Ann"}},
            file("audio", "1.mp3", "audio/mpeg"),
        ),
        (
            {"video": FILE | {"file_name": "v.mp4", "mime_type": "video/mp4"}},
            file("video", "v.mp4", "video/mp4"),
        ),
        ({"video_note": FILE}, file("video", "video-note-5.mp4", "video/mp4", recorded=True)),
        ({"animation": FILE, "document": PDF}, file("video", "animation-5.mp4", "video/mp4")),
    ],
    ids=str,
)
def test_a_file_arrives_as_an_attachment_and_its_caption_as_text(
    fields: dict[str, Any], expected: Attachment
) -> None:
    message = sent(caption="read this", **fields)
    assert message.text == "read this"
    assert message.attachments == (expected,)
    assert sent(**fields).text == ""


def test_of_a_photo_the_largest_size_is_taken() -> None:
    sizes = [FILE | {"file_id": str(width), "width": width} for width in (90, 1280, 320)]
    message = sent(photo=sizes, caption="look")
    assert message.attachments == (
        Attachment(kind="image", ref="1280", name="photo-5.jpg", mime="image/jpeg"),
    )


@pytest.mark.parametrize(
    ("name", "harmless"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\\\temp\\\\a.txt", "a.txt"),
        ("gpj.\u202eexe.scr", "gpj.exe.scr"),
        (".bashrc", "bashrc"),
        ("a\nb\x00.txt", "a b.txt"),
        ("a:b|c?.txt", "a_b_c_.txt"),
        ("n" * 300 + ".pdf", "n" * 56 + ".pdf"),
        ("/", "document-5"),
        ("..", "document-5"),
    ],
)
def test_hostile_file_names_are_made_harmless(name: str, harmless: str) -> None:
    assert sent(document=FILE | {"file_name": name}).attachments[0].name == harmless


def test_a_sticker_that_stands_still_is_a_picture_and_one_that_moves_is_words() -> None:
    still = sent(sticker=FILE | {"emoji": "😀"})
    assert still.text == "[sticker 😀]"
    assert [(item.kind, item.mime) for item in still.attachments] == [("image", "image/webp")]
    for moving in ({"is_animated": True}, {"is_video": True}):
        message = sent(sticker=FILE | {"emoji": "😀"} | moving)
        assert (message.text, message.attachments) == ("[animated sticker 😀]", ())


PLACE = {"latitude": 52.5, "longitude": 13}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"location": PLACE}, "[location: 52.500000, 13.000000]"),
        ({"location": PLACE | {"live_period": 60}}, "[live location: 52.500000, 13.000000]"),
        (
            {"venue": {"location": PLACE, "title": "X", "address": "Y\nZ"}, "location": PLACE},
            "[venue: X, Y Z, 52.500000, 13.000000]",
        ),
        ({"contact": {"phone_number": "+49", "first_name": "Bo"}}, "[contact: Bo, +49]"),
        (
            {"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}},
            "[poll: Tea? Options: yes / no]",
        ),
        ({"dice": {"emoji": "🎲", "value": 4}}, "[dice 🎲 shows 4]"),
        ({"game": {"title": "Chess"}}, "[game: Chess]"),
        (
            {"checklist": {"title": "Buy", "tasks": [{"id": 1, "text": "tea"}]}},
            "[checklist: Buy: tea]",
        ),
        ({"story": {"chat": {"id": 1}, "id": 1}}, "[a story, which bots cannot see]"),
        ({"paid_media": {"star_count": 5, "paid_media": []}}, "[media for 5 Telegram Stars]"),
        ({"paid_media": {"star_count": "many"}}, "[media for 0 Telegram Stars]"),
        ({"giveaway": {"chats": []}}, "[a giveaway]"),
        ({"giveaway_winners": {}}, "[the winners of a giveaway]"),
        ({"invoice": {"title": "Boat", "description": "a red\none"}}, "[invoice: Boat: a red one]"),
    ],
    ids=str,
)
def test_what_is_neither_text_nor_a_file_arrives_in_words(
    fields: dict[str, Any], text: str
) -> None:
    assert sent(**fields).text == text


def test_media_for_sale_arrive_as_far_as_they_are_bought() -> None:
    media = [
        {"type": "preview", "width": 9},
        {"type": "photo", "photo": [FILE, FILE | {"file_id": "L", "width": 9}]},
        {"type": "video", "video": FILE},
        {"type": "live_photo", "live_photo": FILE | {"file_id": "M"}},
    ]
    message = sent(paid_media={"star_count": 5, "paid_media": media}, caption="buy")
    assert message.text == "[media for 5 Telegram Stars]\nbuy"
    assert [(file.ref, file.name) for file in message.attachments] == [
        ("L", "photo-5-2.jpg"),
        ("F", "video-5-3.mp4"),
        ("M", "video-5-4.mp4"),
    ]


def test_a_live_photo_is_its_photo_and_without_one_its_video() -> None:
    live = FILE | {"file_id": "V"}
    assert [file.ref for file in sent(photo=[FILE], live_photo=live).attachments] == ["F"]
    (video,) = sent(live_photo=live).attachments
    assert (video.ref, video.kind) == ("V", "video")
