"""Vision: images get their bytes just before a model is called, and only for that call."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator

import msgspec
from loguru import logger

from nanobot.errors import BlobMissing
from nanobot.ports import BlobReader
from nanobot.providers.base import (
    ChatMessage,
    Delta,
    ImagePart,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Models,
    Part,
    TextPart,
)

_MISSING = "[this image is not here any more]"


class VisionModels:
    """Models whose requests may refer to images by their blob."""

    def __init__(self, models: Models, blobs: BlobReader) -> None:
        self._models = models
        self._blobs = blobs

    async def pick(self, label: str | None) -> tuple[LLMProvider, ModelProfile]:
        """The model with that label. Raises ModelError or ConfigError."""
        provider, profile = await self._models.pick(label)
        return (_WithImages(provider, self._blobs) if profile.images else provider), profile


class _WithImages(LLMProvider):
    """A provider that receives complete images."""

    def __init__(self, provider: LLMProvider, blobs: BlobReader) -> None:
        self._provider = provider
        self._blobs = blobs

    def profile(self, model: str) -> ModelProfile:
        return self._provider.profile(model)

    def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        if any(_named(part) for message in request.messages for part in _parts(message)):
            return self._resolved(request)
        return self._provider.chat_stream(request)

    async def close(self) -> None:
        await self._provider.close()

    async def _resolved(self, request: ModelRequest) -> AsyncIterator[Delta]:
        messages = tuple([await self._message(message) for message in request.messages])
        whole = msgspec.structs.replace(request, messages=messages)
        stream = self._provider.chat_stream(whole)
        async for delta in stream:
            yield delta

    async def _message(self, message: ChatMessage) -> ChatMessage:
        if isinstance(message.content, str):
            return message
        parts = tuple([await self._part(part) for part in message.content])
        return msgspec.structs.replace(message, content=parts)

    async def _part(self, part: Part) -> Part:
        if not isinstance(part, ImagePart) or not part.blob:
            return part
        try:
            content = await self._blobs.read(part.blob)
        except BlobMissing as missing:
            logger.warning("an image is left out: {}", missing)
            return TextPart(_MISSING)
        data = await asyncio.to_thread(base64.b64encode, content)
        return ImagePart(mime=part.mime, data=data.decode())


def _parts(message: ChatMessage) -> tuple[Part, ...]:
    return () if isinstance(message.content, str) else message.content


def _named(part: Part) -> bool:
    return isinstance(part, ImagePart) and bool(part.blob)
