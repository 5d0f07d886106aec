"""The lean client: OpenAI-compatible /chat/completions, streamed over aiohttp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from nanobot.providers.addresses import versioned
from nanobot.providers.base import ModelRequest
from nanobot.providers.http_provider import AnswerParser, HttpProvider, checked_address
from nanobot.providers.openai_request import Quirks, encode_request
from nanobot.providers.openai_speech import speak
from nanobot.providers.openai_stream import AnswerReader


class OpenAICompatProvider(HttpProvider):
    """See HttpProvider; it also transcribes, speaks and makes embeddings."""

    def __init__(self, name: str, api_base: str, api_key: str = "", **more: Any) -> None:
        super().__init__(name, api_base, api_key, **more)
        # OpenAI's newer models reject `max_tokens`; most other servers know only that.
        self._first_quirks = Quirks(
            completion_tokens="//api.openai.com" in self.api_base,
            anthropic_cache="//openrouter.ai" in self.api_base,
            openrouter="//openrouter.ai" in self.api_base,
        )

    async def transcribe(self, audio: bytes, name: str, model: str) -> str:
        """The transcript of a recording; `name` is its file name. Raises ModelError."""
        from nanobot.providers.openai_audio import Recording, transcribe  # noqa: PLC0415

        speaker, recording = self._speaker(model), Recording(audio, name)
        return await transcribe(recording, speaker, self._plain(), self._policy, self._clock)

    async def speak(self, text: str, voice: str, model: str) -> bytes:
        """The text as sound, in that voice. Raises ModelError."""
        speaker = self._speaker(model)
        return await speak(text, voice, speaker, self._plain(), (self._policy, self._clock))

    async def embed(self, texts: Sequence[str], model: str) -> list[list[float]]:
        """A vector for each text. Raises ModelError."""
        from nanobot.providers.openai_embeddings import embed  # noqa: PLC0415

        return await embed(texts, self._speaker(model), self._plain(), self._policy, self._clock)

    def _checked_base(self, api_base: str) -> str:
        return versioned(checked_address(self.name, api_base.strip()))

    def _headers(self) -> dict[str, str]:
        # A name and password in the URL become the same header.
        if self._api_key and "@" not in urlsplit(self.api_base).netloc:
            return {"authorization": f"Bearer {self._api_key}"}
        return {}

    def _path(self, model: str) -> str:
        return "/chat/completions"

    def _encode(self, request: ModelRequest, quirks: Quirks) -> bytes:
        return encode_request(request, quirks)

    def _parser(self, label: str) -> AnswerParser:
        return AnswerReader()

    def _plain(self) -> dict[str, str]:
        """The headers of calls that are not streamed."""
        common = {"content-type": "application/json", "accept-encoding": "identity"}
        return {**common, "user-agent": "nanobot", **self._headers()}
