"""Gemini's generateContent API, streamed over aiohttp."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from nanobot.plugins.gemini.request import encode_contents
from nanobot.plugins.gemini.stream import ContentReader
from nanobot.providers.addresses import versioned
from nanobot.providers.base import ModelRequest
from nanobot.providers.http_provider import AnswerParser, HttpProvider, checked_address
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.openai_request import Quirks, without
from nanobot.providers.retrying import Endpoint


class GeminiProvider(HttpProvider):
    """See HttpProvider. Signatures of thoughts are returned unchanged. Recordings and embeddings
    use Google's OpenAI-compatible endpoints under the same base URL.
    """

    listing = "/models?pageSize=1000"
    _compatible: OpenAICompatProvider | None = None

    def endpoint(self, model: str) -> Endpoint:
        """Google's OpenAI-compatible endpoint, for calls of its other APIs."""
        return self._other().endpoint(model)

    async def close(self) -> None:
        await super().close()
        if self._compatible is not None:
            await self._compatible.close()

    def _other(self) -> OpenAICompatProvider:
        if self._compatible is None:
            self._compatible = OpenAICompatProvider(
                self.name,
                f"{self.api_base}/openai",
                self._api_key,
                clock=self._clock,
                profiles=self._profiles,
                policy=self._policy,
            )
        return self._compatible

    def _checked_base(self, api_base: str) -> str:
        return versioned(checked_address(self.name, api_base.strip()), "v1beta", below_paths=True)

    def _headers(self) -> dict[str, str]:
        # A name and password in the URL become a separate header.
        if self._api_key and "@" not in urlsplit(self.api_base).netloc:
            return {"x-goog-api-key": self._api_key}
        return {}

    def _path(self, model: str) -> str:
        name = quote(model.removeprefix("models/"), safe="/")
        kind = "" if name.startswith("tunedModels/") else "models/"
        return f"/{kind}{name}:streamGenerateContent?alt=sse"

    def _encode(self, request: ModelRequest, quirks: Quirks) -> bytes:
        return encode_contents(request, without(quirks, self.profile(request.model)))

    def _parser(self, label: str) -> AnswerParser:
        return ContentReader(label)
