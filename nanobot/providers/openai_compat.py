"""The lean client: OpenAI-compatible /chat/completions, streamed over aiohttp."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from nanobot.providers.addresses import versioned
from nanobot.providers.base import ModelRequest
from nanobot.providers.http_provider import AnswerParser, HttpProvider, checked_address
from nanobot.providers.openai_request import Quirks, Written, encode_request
from nanobot.providers.openai_stream import AnswerReader
from nanobot.providers.retrying import Endpoint

_WANT_THOUGHTS = ("//api.deepseek.com", "//api.moonshot.")


class OpenAICompatProvider(HttpProvider):
    """See HttpProvider and HasEndpoint."""

    def __init__(self, name: str, api_base: str, api_key: str = "", **more: Any) -> None:
        super().__init__(name, api_base, api_key, **more)
        self._written = Written()
        # OpenAI's newer models reject `max_tokens`; most other servers know only that.
        self._first_quirks = Quirks(
            completion_tokens="//api.openai.com" in self.api_base,
            anthropic_cache="//openrouter.ai" in self.api_base,
            openrouter="//openrouter.ai" in self.api_base,
            thoughts=any(host in self.api_base for host in _WANT_THOUGHTS),
        )

    def endpoint(self, model: str) -> Endpoint:
        """The endpoint, for calls of its other APIs."""
        common = {"accept-encoding": "identity", "user-agent": "nanobot"}
        headers = {**common, **self._headers()}
        return Endpoint(self._speaker(model), headers, self._policy, self._clock)

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
        return encode_request(request, quirks, self._written)

    def _parser(self, label: str) -> AnswerParser:
        model = label.removeprefix(f"{self.name}/")
        return AnswerReader(label, thoughts=self._quirks_of(model).thoughts)
