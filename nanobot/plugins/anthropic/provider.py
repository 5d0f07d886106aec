"""Anthropic's Messages API, streamed over aiohttp."""

from __future__ import annotations

from urllib.parse import urlsplit

from nanobot.plugins.anthropic.request import encode_message
from nanobot.plugins.anthropic.stream import MessageReader
from nanobot.providers.addresses import versioned
from nanobot.providers.base import ModelRequest
from nanobot.providers.http_provider import AnswerParser, HttpProvider, checked_address
from nanobot.providers.openai_request import Quirks, without

VERSION = "2023-06-01"
"""The API's version; there is no later one."""


class AnthropicProvider(HttpProvider):
    """See HttpProvider. It tells the provider's cache what to keep, and returns answers with
    thoughts or citations unchanged.
    """

    listing = "/models?limit=1000"

    def _checked_base(self, api_base: str) -> str:
        return versioned(checked_address(self.name, api_base.strip()), below_paths=True)

    def _headers(self) -> dict[str, str]:
        headers = {"anthropic-version": VERSION}
        # A name and password in the URL become a separate header.
        if self._api_key and "@" not in urlsplit(self.api_base).netloc:
            headers["x-api-key"] = self._api_key
        return headers

    def _path(self, model: str) -> str:
        return "/messages"

    def _encode(self, request: ModelRequest, quirks: Quirks) -> bytes:
        return encode_message(request, without(quirks, self.profile(request.model)))

    def _parser(self, label: str) -> AnswerParser:
        return MessageReader(label)
