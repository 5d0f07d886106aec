"""Files to and from WhatsApp.

https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media
"""

from __future__ import annotations

import aiohttp

from nanobot.errors import ChannelDown, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Attachment
from nanobot_channels.common.json_api import FAILED, Json
from nanobot_channels.common.numbers import size
from nanobot_channels.common.shapes import string, table
from nanobot_channels.common.text import clipped
from nanobot_channels.common.uploads import ANY, upload_mime, upload_name
from nanobot_channels.whatsapp.api import GraphApi, delivery_error
from nanobot_channels.whatsapp.parts import BODY_LIMIT

_KINDS = {
    **dict.fromkeys(("image/jpeg", "image/png"), "image"),
    **dict.fromkeys(("video/mp4", "video/3gpp"), "video"),
    **dict.fromkeys(("audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"), "audio"),
}
LIMITS = {"image": 5_000_000, "video": 16_000_000, "audio": 16_000_000, "document": 100_000_000}
"""The most bytes of each kind; a larger picture is sent as a document."""
_HOSTS = ("fbsbx.com", "fbcdn.net", "whatsapp.net")


async def download(api: GraphApi, attachment: Attachment, limit: int) -> bytes:
    """A file's content. Raises Refused for a file that can never be fetched, and ChannelDown."""
    try:
        about = table(await api.call("media", f"/{attachment.ref}"))
    except FAILED as error:
        failed = delivery_error(error)
        if isinstance(failed, Refused):
            raise Refused(f"WhatsApp does not have the file any more: {error}") from error
        raise ChannelDown(str(error), getattr(error, "retry_after", None)) from error
    if size(about.get("file_size")) > limit:
        raise Refused(f"the file is larger than {limit} bytes")
    return await api.download(string(about.get("url")), limit, *_HOSTS)


async def uploaded(api: GraphApi, file: Attachment, content: bytes, caption: str) -> Json:
    """Upload a file; returns the fields of the message that shows it. Raises as `send`, but not
    OutcomeUnknown: no message exists yet.
    """
    kind, mime = _kind(file, content)
    if len(content) > LIMITS[kind]:
        raise Refused(f"WhatsApp takes files of at most {LIMITS[kind] / 1e6:.0f} MB")
    form = aiohttp.FormData({"messaging_product": "whatsapp", "type": mime})
    name = upload_name(file)
    form.add_field("file", content, filename=name, content_type=mime)
    try:
        number = string((await api.edge("media", form)).get("id"))
    except FAILED as error:
        failed = delivery_error(error)
        raise NotSent(str(error)) if isinstance(failed, OutcomeUnknown) else failed from error
    if not number:
        raise NotSent("WhatsApp took the upload and gave it no id")
    media: Json = {"id": number}
    if kind == "document":
        media["filename"] = name
    if kind == "audio" and file.kind == "voice":
        media["voice"] = True
    if caption and kind != "audio":
        media["caption"] = clipped(caption, BODY_LIMIT)
    return {"type": kind, kind: media}


def _kind(file: Attachment, content: bytes) -> tuple[str, str]:
    """The kind that WhatsApp displays it as, and its media type."""
    mime = upload_mime(file)
    if file.kind == "voice":
        return "audio", "audio/ogg"
    kind = _KINDS.get(mime, "document")
    if len(content) > LIMITS[kind]:
        kind = "document"
    known = mime.startswith("application/") and (mime != ANY or ANY in file.mime)
    if kind == "document" and not known and _is_text(content):
        mime = "text/plain"  # WhatsApp supports no other kind of text
    return kind, mime


def _is_text(content: bytes) -> bool:
    try:
        return "\x00" not in content.decode()
    except UnicodeDecodeError:
        return False
