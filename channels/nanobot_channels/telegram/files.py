"""Files from and to Telegram, within the Bot API's limits
(https://core.telegram.org/bots/api#sending-files)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import ChannelDown, Refused
from nanobot.messages import Attachment
from nanobot.text import pattern
from nanobot.workspace.images import look
from nanobot_channels.common.http import TooMuch
from nanobot_channels.common.text import file_name
from nanobot_channels.telegram.api import MALFORMED, BotApi, delivery_error, lacks_method
from nanobot_channels.telegram.http import ApiRefusal
from nanobot_channels.telegram.library import InputFile, TelegramError

CAPTION_LIMIT = 1024
"""UTF-16 units below a file (Bot API, sendDocument)."""
UPLOAD_LIMIT = 50 * 1000 * 1000
PHOTO_LIMIT = 10 * 1000 * 1000
_PHOTO_SIDES = 10_000
_PHOTO_RATIO = 20
_PHOTO_TYPES = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF")
# An upload slower than this is aborted; the speed is half of that of a bad mobile connection.
_LEAST_SECONDS = 20
_BYTES_A_SECOND = 32_000
_LOCAL = pattern(r"[/\\]|[A-Za-z]:")


class _FilePath(msgspec.Struct):
    file_path: str = ""
    file_size: int = 0


async def fetch(api: BotApi, attachment: Attachment, limit: int) -> bytes:
    """The content behind `attachment.ref`; see ports.Fetching."""
    if attachment.size > limit:
        raise _too_large(attachment.size, limit)
    path = await _path(api, attachment, limit)
    try:
        return await api.download(path, limit)
    except TooMuch as error:
        raise _too_large(0, limit) from error
    except ApiRefusal as error:
        if error.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
            raise _lost(error) from error
        raise _down(error) from error
    except TelegramError as error:
        raise ChannelDown(f"no file from Telegram: {error.message}") from error


async def _path(api: BotApi, attachment: Attachment, limit: int) -> str:
    """The file's path on the server, valid for at least an hour."""
    try:
        answer = await api.call("get_File", {"file_id": attachment.ref})
        file = msgspec.convert(answer, _FilePath, strict=False)
    except ApiRefusal as error:
        if "file is too big" in error.message.lower():
            has = f", and this one has {_megabytes(attachment.size)}" if attachment.size else ""
            raise Refused(f"Telegram gives bots files of at most 20 MB{has}.") from error
        # Not 404: for a method that is about the token, and polling reports it.
        raise (_lost if error.status == HTTPStatus.BAD_REQUEST else _down)(error) from error
    except (TelegramError, msgspec.ValidationError, *MALFORMED) as error:
        raise ChannelDown(f"no usable answer from Telegram: {error!r}") from error
    if _LOCAL.match(file.file_path):
        raise Refused(
            "Your Bot API server keeps files on its own disk (--local), where I do not look. "
            "Run it without --local to let me have files."
        )
    if not file.file_path:
        raise Refused("Telegram does not say where this file is. Please send it again.")
    if file.file_size > limit:
        raise _too_large(file.file_size, limit)
    return file.file_path


def _too_large(size: int, limit: int) -> Refused:
    has = f"it has {_megabytes(size)}" if size else "it has more"
    return Refused(f"This file is too large: {has}, and I take at most {_megabytes(limit)}.")


def _lost(error: ApiRefusal) -> Refused:
    return Refused(f"Telegram no longer has this file ({error.message}). Please send it again.")


def _down(error: ApiRefusal) -> ChannelDown:
    return ChannelDown(f"Telegram: {error.message} ({error.status})", error.retry_after)


def _megabytes(size: int) -> str:
    if size < 100_000:
        return f"{size:,} bytes"
    return f"{size / 1_000_000:.1f}".removesuffix(".0") + " MB"


async def upload(api: BotApi, file: Attachment, content: bytes, params: Mapping[str, Any]) -> str:
    """Send a file by the method for its kind, otherwise as a document; returns the message_id.

    `params` are the message's further parameters. Raises as `send`.
    """
    name = checked_name(file, content)
    better = better_form(file, content)
    if better:
        try:
            return await _post(api, better, params, name, content)
        except Refused as error:
            # For its format, its dimensions or the chat's permissions: a document may still arrive.
            logger.debug("{} as {}: {}", name, better, error)
    return await _post(api, "document", params, name, content)


def checked_name(file: Attachment, content: bytes) -> str:
    """The name under which a file is sent. Raises Refused if Telegram accepts the file in
    no form.
    """
    name = file_name(file.name) or file_name(f"{file.kind}.{_suffix(file.mime)}")
    if not content:
        raise Refused(f"{name} is an empty file, and Telegram takes none such.")
    if len(content) > UPLOAD_LIMIT:
        raise Refused(
            f"{name} has {_megabytes(len(content))}; "
            f"Telegram takes files of at most {_megabytes(UPLOAD_LIMIT)} from bots."
        )
    return name


async def _post(
    api: BotApi, kind: str, params: Mapping[str, Any], name: str, content: bytes
) -> str:
    try:
        result = await api.call(
            f"send_{kind.title()}",
            {**params, kind: InputFile(content, filename=name)},
            write_seconds=write_seconds(len(content)),
        )
        return str(result["message_id"])
    except (TelegramError, *MALFORMED) as error:
        if isinstance(error, ApiRefusal) and lacks_method(error):
            raise Refused(f"Telegram's server takes no {kind}") from error
        raise delivery_error(error) from error


def write_seconds(size: int) -> float:
    """The time limit for an upload of this many bytes."""
    return _LEAST_SECONDS + size / _BYTES_A_SECOND


def _suffix(mime: str) -> str:
    return mime.partition("/")[2].partition(";")[0].partition("+")[0] or "bin"


def better_form(file: Attachment, content: bytes) -> str | None:
    """The kind that makes Telegram display or play it, None if only a document is possible."""
    if _is_photo(content):
        return "photo"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "animation"
    if content.startswith(b"OggS") and b"OpusHead" in content[:128]:
        return "voice"
    return played_form(file)


def played_form(file: Attachment) -> str | None:
    """Music or a video, judging by its type and its name."""
    mime, suffix = type_and_suffix(file)
    if mime in {"audio/mpeg", "audio/mp4", "audio/x-m4a"} or suffix in {"mp3", "m4a"}:
        return "audio"
    if mime == "video/mp4" or suffix == "mp4":
        return "video"
    return None


def type_and_suffix(file: Attachment) -> tuple[str, str]:
    """Its type without parameters, and the suffix of its name; empty if missing."""
    return file.mime.lower().partition(";")[0], file.name.lower().rpartition(".")[2]


def _is_photo(content: bytes) -> bool:
    """Whether Telegram accepts it by sendPhoto: at most 10 MB, width and height at most 10,000
    together, neither more than 20 times the other.
    """
    if len(content) > PHOTO_LIMIT or not content.startswith(_PHOTO_TYPES):
        return False
    image = look(content)
    if image is None:
        return False
    sides = (image.width, image.height)
    return sum(sides) <= _PHOTO_SIDES and max(sides) <= _PHOTO_RATIO * min(sides)
