"""As what WhatsApp gets a file: the media types that its documentation lists, and what is sent
instead of all others."""

from __future__ import annotations

import pytest

from nanobot.messages import Attachment
from nanobot_channels.whatsapp.files import LIMITS, _kind

DOCUMENTED = {
    "audio/aac": "audio",
    "audio/amr": "audio",
    "audio/mpeg": "audio",
    "audio/mp4": "audio",
    "audio/ogg": "audio",
    "image/jpeg": "image",
    "image/png": "image",
    "video/mp4": "video",
    "video/3gpp": "video",
}


@pytest.mark.parametrize("mime", DOCUMENTED)
def test_a_documented_media_type_is_shown_as_what_it_is(mime: str) -> None:
    kind = DOCUMENTED[mime]
    file = Attachment("document", name="x", mime=mime)
    assert _kind(file, b"\xff\x00") == (kind, mime)
    assert _kind(file, bytes(LIMITS[kind] + 1))[0] == "document"


@pytest.mark.parametrize(
    "mime", ["image/gif", "image/webp", "image/svg+xml", "video/webm", "audio/flac", "audio/wav"]
)
def test_any_other_picture_sound_or_video_is_a_document(mime: str) -> None:
    assert _kind(Attachment("document", name="x", mime=mime), b"\xff\x00") == ("document", mime)


def test_a_voice_message_is_ogg_and_a_text_is_plain() -> None:
    assert _kind(Attachment("voice", name="x", mime="audio/mpeg"), b"O") == ("audio", "audio/ogg")
    for mime in ("text/markdown", "text/x-python", ""):
        file = Attachment("document", name="x", mime=mime)
        assert _kind(file, "Grüße".encode()) == ("document", "text/plain")
