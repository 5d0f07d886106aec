"""Vision: images get their bytes just before a model is called, and only for that call."""

from __future__ import annotations

import asyncio
import base64

from loguru import logger
from msgspec.structs import replace

from nanobot.errors import BlobMissing
from nanobot.ports import BlobReader
from nanobot.providers.base import ChatMessage, ImagePart, ModelRequest, Part, TextPart

_MISSING = "[this image is not here any more]"


async def with_images(request: ModelRequest, blobs: BlobReader) -> ModelRequest:
    """The request with the bytes of the images that it names by their blobs."""
    # A request may have hundreds of messages, and all() takes four times as long.
    if not [message for message in request.messages if type(message.content) is not str]:
        return request
    messages = tuple([await _complete(message, blobs) for message in request.messages])
    return replace(request, messages=messages)


async def _complete(message: ChatMessage, blobs: BlobReader) -> ChatMessage:
    if isinstance(message.content, str):
        return message
    return replace(message, content=tuple([await _part(part, blobs) for part in message.content]))


async def _part(part: Part, blobs: BlobReader) -> Part:
    if not isinstance(part, ImagePart) or not part.blob:
        return part
    try:
        content = await blobs.read(part.blob)
    except BlobMissing as missing:
        logger.warning("an image is left out: {}", missing)
        return TextPart(_MISSING)
    data = await asyncio.to_thread(base64.b64encode, content)
    return ImagePart(mime=part.mime, data=data.decode())
