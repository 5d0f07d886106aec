"""Several files as one Telegram message: an album
(https://core.telegram.org/bots/api#sendmediagroup).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from loguru import logger

from nanobot.errors import Refused
from nanobot.messages import Address, Attachment
from nanobot.ports import OutboundPart
from nanobot_channels.common.text import utf16_units
from nanobot_channels.telegram.api import MALFORMED, BotApi, delivery_error, lacks_method
from nanobot_channels.telegram.files import (
    CAPTION_LIMIT,
    PHOTO_LIMIT,
    UPLOAD_LIMIT,
    better_form,
    checked_name,
    played_form,
    type_and_suffix,
    write_seconds,
)
from nanobot_channels.telegram.http import ApiRefusal
from nanobot_channels.telegram.library import (
    InputMediaAudio,
    InputMediaDocument,
    InputMediaPhoto,
    InputMediaVideo,
    TelegramError,
)
from nanobot_channels.telegram.messages import target_of

_MOST = 10
# Which files may share an album: photos with videos, other types with their own type, the rest with
# none.
_ALBUM = {"photo": "visual", "video": "visual", "audio": "audio", "document": "document"}
_Item: TypeAlias = InputMediaAudio | InputMediaDocument | InputMediaPhoto | InputMediaVideo
_ITEMS: dict[str, Callable[..., _Item]] = {
    "photo": InputMediaPhoto,
    "video": InputMediaVideo,
    "audio": InputMediaAudio,
    "document": InputMediaDocument,
}
_PHOTOS = {"image/jpeg", "image/png", "jpeg", "jpg", "png"}
# An animation or a voice message; WebP, which Telegram mostly refuses as a photo.
_ALONE = {"image/gif", "gif", "audio/ogg", "audio/opus", "ogg", "oga", "opus", "image/webp", "webp"}


class TelegramAlbums:
    """Sends albums, until the server turns out not to support them."""

    def __init__(self, api: BotApi) -> None:
        self._api = api
        self._lacking = False

    def together(self, files: Sequence[Attachment]) -> int:
        """How many of these files, from the first on, make one album, judging by their names, types
        and sizes.
        """
        album, size, count = _album_of(files[0]), 0, 0
        for file in files[:_MOST]:
            size += file.size
            if _album_of(file) != album or size > UPLOAD_LIMIT:
                break
            count += 1
        return 1 if album is None or self._lacking else max(count, 1)

    async def send(self, address: Address, part: OutboundPart, contents: Sequence[bytes]) -> str:
        """Send the files of a part as one album; returns the message_id of the first. Raises as
        ports.Channel.send."""
        files = (*([part.file] if part.file else []), *part.others)
        if self._lacking or not 2 <= len(files) <= _MOST or len(files) != len(contents):
            raise Refused("these files make no album")
        if utf16_units(part.text) > CAPTION_LIMIT:
            # It would be sent first, and again with the first file if the album were refused.
            raise Refused("an album has no room for a text this long")
        if sum(map(len, contents)) > UPLOAD_LIMIT:
            raise Refused("together these files are too large")
        params = {**target_of(address, part), "media": _items(files, contents, part.text)}
        try:
            result = await self._api.call(
                "send_Media_Group", params, write_seconds=write_seconds(sum(map(len, contents)))
            )
            return str(result[0]["message_id"])
        except (TelegramError, IndexError, *MALFORMED) as error:
            if isinstance(error, ApiRefusal) and lacks_method(error):
                logger.info("Telegram's server has no albums")
                self._lacking = True
                raise Refused("Telegram's server has no albums") from error
            raise delivery_error(error) from error


def _items(files: Sequence[Attachment], contents: Sequence[bytes], caption: str) -> list[_Item]:
    """The items of an album, the first with the caption. Raises Refused for files that cannot form
    one.
    """
    items: list[_Item] = []
    albums = set()
    for file, content in zip(files, contents, strict=True):
        name = checked_name(file, content)
        form = better_form(file, content) or "document"
        album = _ALBUM.get(form)
        albums.add(album)
        if album is None or len(albums) > 1:
            raise Refused("an album takes photos with videos, and else files of one kind")
        words = caption if caption.strip() and not items else None
        items.append(_ITEMS[form](content, caption=words, filename=name))
    return items


def _album_of(file: Attachment) -> str | None:
    """Which album a file may be in, judging by its declared data; None for one that is sent
    alone.
    """
    about = set(type_and_suffix(file))
    if file.kind == "voice" or about & _ALONE:
        return None
    photo = bool(about & _PHOTOS) or (file.kind == "image" and about == {""})
    if photo and file.size <= PHOTO_LIMIT:
        return _ALBUM["photo"]
    return _ALBUM[played_form(file) or "document"]
