"""The wires that the contract suite runs over: a scripted server, the provider that talks to it,
and how that server words the same refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nanobot.plugins.anthropic.provider import AnthropicProvider
from nanobot.plugins.gemini.provider import GeminiProvider
from nanobot.plugins.litellm.provider import LiteLLMProvider
from nanobot.ports import Clock
from nanobot.providers.base import ChatMessage, LLMProvider, ModelRequest
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.retrying import CallPolicy
from tests.doubles import anthropic_server, gemini_server, openai_server
from tests.doubles.openai_server import Answer, Fault, OpenAIServer
from tests.providers.asking import KEY

HEADERS = {"retry_after": "7"}


@dataclass(frozen=True)
class Wire:
    """`refusals` and `broken` are this wire's ways to say the same things; see the suite.

    `tells_ends`: litellm shows whether the endpoint finished. Its Gemini adapter says "stop" with
    every piece, so there only a broken connection shows that an answer was cut.
    `images_in_results`: images of tool results are sent within them.
    """

    name: str
    native: Callable[..., LLMProvider] | None
    provider: str
    model: str
    server: type[OpenAIServer]
    refusals: Mapping[str, Fault]
    broken: tuple[Fault, ...] = ()
    tells_ends: bool = True
    images_in_results: bool = False

    @property
    def litellm(self) -> bool:
        return self.native is None

    def base(self, server: OpenAIServer) -> str:
        if self.provider == "anthropic":
            return server.root
        return f"{server.root}/v1beta" if self.provider == "gemini" else server.base_url

    def open(self, server: OpenAIServer, clock: Clock, policy: CallPolicy) -> LLMProvider:
        base = self.base(server)
        if self.native is not None:
            return self.native(self.provider, base, KEY, clock=clock, policy=policy)
        return LiteLLMProvider(
            name=self.provider, api_key=KEY, api_base=base, clock=clock, policy=policy
        )

    def ask(self, *contents: str | ChatMessage, **more: Any) -> ModelRequest:
        messages = tuple(
            ChatMessage(role="user", content=content) if isinstance(content, str) else content
            for content in contents
        )
        return ModelRequest(model=self.model, messages=messages, **more)

    def half(self, answer: Answer) -> Fault:
        """The first events of an answer, and then an orderly end of the body."""
        body = {"model": self.model, "stream": True, "messages": []}
        return Fault(raw=b"".join(self.server().frames(body, b"", answer)[:4]))


_OPENAI = {
    "key": openai_server.error_status(401, f"Incorrect API key: {KEY}", "invalid_api_key"),
    "quota": openai_server.error_status(429, "You exceeded your quota", "insufficient_quota"),
    "credit": openai_server.error_status(402, "Payment required"),
    "model": openai_server.error_status(404, "The model m-9 does not exist", "model_not_found"),
    "request": openai_server.error_status(400, "messages: odd", "invalid_request_error"),
    "policy": openai_server.error_status(400, "Flagged by our content policy", "content_policy"),
    "overflow": openai_server.error_status(
        400, "This model's maximum context length is 8192 tokens", "context_length_exceeded"
    ),
    "large": openai_server.error_status(413, "payload too large"),
    "limit": openai_server.error_status(429, "slow down", None, **HEADERS),
    "hours": openai_server.error_status(429, "slow down", None, retry_after="3600"),
    "down": openai_server.error_status(500, "boom"),
    "busy": openai_server.error_status(503, "overloaded"),
    "event": openai_server.error_in_stream("upstream died", 502),
}
_ANTHROPIC = {
    "key": anthropic_server.refusal(401, "authentication_error", f"invalid x-api-key {KEY}"),
    "quota": anthropic_server.refusal(
        400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."
    ),
    "credit": anthropic_server.refusal(402, "billing_error", "pay"),
    "model": anthropic_server.refusal(404, "not_found_error", "model: m-9"),
    "request": anthropic_server.refusal(400, "invalid_request_error", "messages: odd"),
    "policy": anthropic_server.refusal(
        400, "invalid_request_error", "Output blocked by content filtering policy"
    ),
    "overflow": anthropic_server.refusal(
        400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
    ),
    "large": anthropic_server.refusal(413, "request_too_large", "Request exceeds the size"),
    "limit": anthropic_server.refusal(429, "rate_limit_error", "slow down", **HEADERS),
    "hours": anthropic_server.refusal(429, "rate_limit_error", "slow down", retry_after="3600"),
    "down": anthropic_server.refusal(500, "api_error", "boom"),
    "busy": anthropic_server.refusal(529, "overloaded_error", "Overloaded"),
    "event": anthropic_server.error_event("overloaded_error", "Overloaded"),
}
_GEMINI = {
    "key": gemini_server.refusal(403, "PERMISSION_DENIED", f"Your API key {KEY} was leaked."),
    "quota": gemini_server.refusal(429, "RESOURCE_EXHAUSTED", "insufficient_quota"),
    "credit": gemini_server.refusal(402, "FAILED_PRECONDITION", "pay"),
    "model": gemini_server.refusal(404, "NOT_FOUND", "models/m-9 is not found for v1beta"),
    "request": gemini_server.refusal(400, "INVALID_ARGUMENT", "contents: odd"),
    "policy": gemini_server.refusal(400, "INVALID_ARGUMENT", "Blocked by our content policy"),
    "overflow": gemini_server.refusal(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "large": gemini_server.refusal(413, "INVALID_ARGUMENT", "Request payload size exceeds"),
    "limit": gemini_server.refusal(429, "RESOURCE_EXHAUSTED", "slow down", "7s"),
    "hours": gemini_server.refusal(429, "RESOURCE_EXHAUSTED", "slow down", "3600s"),
    "down": gemini_server.refusal(500, "INTERNAL", "boom"),
    "busy": gemini_server.refusal(503, "UNAVAILABLE", "overloaded"),
    "event": gemini_server.error_event(503, "UNAVAILABLE", "overloaded"),
}
_NO_JSON = Fault(raw=b"data: {broken\n\n")
_HTML = Fault(raw=b"<html>hello</html>")

WIRES = (
    Wire("lean", OpenAICompatProvider, "acme", "m-1", OpenAIServer, _OPENAI, (_NO_JSON, _HTML)),
    Wire("litellm-openai", None, "openai", "m-1", OpenAIServer, _OPENAI, (_NO_JSON, _HTML)),
    Wire(
        "anthropic",
        AnthropicProvider,
        "anthropic",
        "claude-haiku-4-5",
        anthropic_server.AnthropicServer,
        _ANTHROPIC,
        (_NO_JSON, _HTML),
        images_in_results=True,
    ),
    Wire(
        "litellm-anthropic",
        None,
        "anthropic",
        "claude-sonnet-4-5",
        anthropic_server.AnthropicServer,
        _ANTHROPIC,
        (_NO_JSON, _HTML),
    ),
    Wire(
        "gemini",
        GeminiProvider,
        "gemini",
        "gemini-3.8-flash",
        gemini_server.GeminiServer,
        _GEMINI,
        (_NO_JSON, _HTML),
    ),
    Wire(
        "litellm-gemini",
        None,
        "gemini",
        "gemini-2.5-flash",
        gemini_server.GeminiServer,
        _GEMINI,
        (_NO_JSON, _HTML),
        tells_ends=False,
    ),
)
