"""Transcripts by a model: of an OpenAI-compatible endpoint, or by its provider's own API.

https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import ConfigError
from nanobot.plugins.common.keys.hearing_settings import HearingKeys
from nanobot.plugins.common.models.endpoints import HasEndpoint
from nanobot.providers.registry import ProviderRegistry
from nanobot.providers.retrying import Endpoint
from nanobot.workspace.received import Transcriber

_MAX_BYTES = 4_000_000
_UNQUOTED = re.compile(r'[\x00-\x1f"\\]')


@runtime_checkable
class Transcribes(Protocol):
    """A provider that transcribes with an API of its own."""

    async def transcribe(self, audio: bytes, name: str, model: str) -> str:
        """The transcript of a recording; `name` is its file name. Raises ModelError."""


def objects(config: Config, models: ProviderRegistry) -> Mapping[Any, Any]:
    """The transcriber, if a model is configured."""
    label = config.of(HearingKeys).transcription_model
    return {Transcriber: ProviderTranscriber(models, label)} if label else {}


class ProviderTranscriber:
    """Transcribes with one model; see received.Transcriber."""

    def __init__(self, registry: ProviderRegistry, label: str) -> None:
        self._registry = registry
        self._label = label

    async def transcribe(self, audio: bytes, name: str) -> str:
        """The transcript; `name` is the recording's file name. Raises ModelError, or ConfigError if
        the provider cannot transcribe.
        """
        provider, profile = await self._registry.pick(self._label)
        if isinstance(provider, Transcribes):
            return await provider.transcribe(audio, name, profile.name)
        if isinstance(provider, HasEndpoint):
            return await transcribe(audio, name, provider.endpoint(profile.name))
        raise ConfigError(
            f"agent.transcription_model is {self._label!r}, which cannot hear: "
            'name another, such as "openai/whisper-1"'
        )


class _Transcript(msgspec.Struct):
    text: str


async def transcribe(audio: bytes, name: str, endpoint: Endpoint) -> str:
    """The transcript of a recording. Endpoints determine its format from its file name. Makes up to
    three attempts if a retry may help; raises the ModelError of the last.
    """
    # Imports aiohttp, which the first call needs and a start does not.
    from nanobot.plugins.common.models.openai_once import SingleRequest, ask_once  # noqa: PLC0415

    boundary = secrets.token_hex(16)
    call = SingleRequest(
        path="audio/transcriptions",
        body=_form(audio, name, endpoint.speaker.model, boundary),
        answer=_Transcript,
        max_bytes=_MAX_BYTES,
        content_type=f"multipart/form-data; boundary={boundary}",
    )
    return (await ask_once(call, endpoint)).text


def _form(audio: bytes, name: str, model: str, boundary: str) -> bytes:
    """The body, as multipart/form-data."""
    quoted = _UNQUOTED.sub("_", name) or "voice.ogg"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{model}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode("utf-8", "replace") + audio + f"\r\n--{boundary}--\r\n".encode()
