"""Files from and to a homeserver's media repository (client-server API, content repository)."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlencode

from nanobot.errors import ChannelDown, ChatGone, NotSent, Refused
from nanobot.messages import Address, Attachment
from nanobot.ports import OutboundPart
from nanobot.workspace.images import look
from nanobot_channels.common.http import TooMuch
from nanobot_channels.common.recordings import measure
from nanobot_channels.common.uploads import upload_mime, upload_name
from nanobot_channels.matrix import parts
from nanobot_channels.matrix.api import (
    Api,
    ApiRefusal,
    NoAnswer,
    delivery_error,
    path,
)
from nanobot_channels.matrix.events import media

_TYPES = {"image": "m.image", "audio": "m.audio", "video": "m.video", "voice": "m.audio"}
# Clients display these directly; they treat other kinds of pictures as files.
_MOST_POINTS = 120
_SHOWN = {"image/png", "image/jpeg", "image/gif", "image/webp"}


async def fetch(api: Api, attachment: Attachment, limit: int) -> bytes:
    """The content behind `attachment.ref`; see ports.Fetching."""
    place = media(attachment.ref)
    if place is None:
        raise Refused("the message does not say where the file is; please send it again")
    if attachment.size > limit:
        raise _too_large(limit)
    query = "?allow_redirect=true"
    try:
        try:
            endpoint = path("media", "download", *place, version="v1")
            return await api.download(("GET", endpoint + query), limit)
        except ApiRefusal as error:
            # Homeservers older than version 1.11 of the specification have it elsewhere.
            if error.code != "M_UNRECOGNIZED":
                raise
        endpoint = path("download", *place).replace("/client/", "/media/", 1)
        return await api.download(("GET", endpoint + query), limit)
    except TooMuch as error:
        raise _too_large(limit) from error
    except NoAnswer as error:
        raise ChannelDown(str(error)) from error
    except ApiRefusal as error:
        if error.passing or error.status == HTTPStatus.UNAUTHORIZED:
            raise ChannelDown(str(error), error.retry_after) from error
        raise Refused(
            f"the homeserver does not give me this file ({error.code or error.status}); "
            "please send it again"
        ) from error


async def content(api: Api, address: Address, part: OutboundPart, data: bytes) -> dict[str, object]:
    """Upload a file; returns the content of the event that shows it. Raises NotSent, Refused."""
    file = part.file or Attachment(kind="document")
    name, mime = upload_name(file), upload_mime(file)
    request = ("POST", f"/_matrix/media/v3/upload?{urlencode({'filename': name})}")
    try:
        uri = await api.upload(request, data, mime)
    except NoAnswer as error:
        # The room does not show anything yet.
        raise NotSent(str(error)) from error
    except ApiRefusal as error:
        if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or error.code == "M_TOO_LARGE":
            raise Refused(
                f"{name} has {len(data):,} bytes, and the homeserver takes less at a time"
            ) from error
        failed = delivery_error(error)
        final = isinstance(failed, Refused | ChatGone)
        raise Refused(str(error)) if final else NotSent(str(error), error.retry_after) from error
    info: dict[str, object] = {"mimetype": mime, "size": len(data)}
    image = look(data) if file.kind == "image" else None
    if image is not None:
        info |= {"w": image.width, "h": image.height}
    displayable = file.kind != "image" or mime in _SHOWN
    fields: dict[str, object] = {
        "msgtype": _TYPES.get(file.kind, "m.file") if displayable else "m.file",
        "body": part.text.strip() or name,
        "filename": name,
        "url": uri,
        "info": info,
        "m.mentions": {},
    }
    fields |= _as_voice(file, data, info)
    if part.key:
        fields[parts.MARK] = parts.mark_of(part)
    relates = parts.relation(address)
    return fields | ({"m.relates_to": relates} if relates else {})


def _as_voice(file: Attachment, data: bytes, info: dict[str, object]) -> dict[str, object]:
    """The fields that make an audio event a voice message (MSC3245 over MSC1767), with its
    length.
    """
    recording = measure(data) if file.kind == "voice" else None
    if recording is None:
        return {}
    info["duration"] = duration = round(recording.seconds * 1000)
    waveform = [point * 4 for point in recording.waveform[:_MOST_POINTS]]
    return {
        "org.matrix.msc1767.audio": {"duration": duration, "waveform": waveform},
        "org.matrix.msc3245.voice": {},
    }


def _too_large(limit: int) -> Refused:
    return Refused(f"this file is too large: I take at most {limit / 1_000_000:g} MB")
