"""An address means the same however it is written, for every client."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from nanobot.plugins.anthropic.provider import AnthropicProvider
from nanobot.plugins.gemini.provider import GeminiProvider
from nanobot.providers.addresses import versioned
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.openai_request import Quirks, encode_request
from nanobot.system import SystemClock
from tests.providers.asking import ask

HOSTS = st.sampled_from(["a.example", "127.0.0.1:8080", "user:pw@b.example", "[::1]:1"])
PATHS = st.sampled_from(["", "/anthropic", "/gateway/one"])
ENDS = st.sampled_from(["", "/", "//", "/v1", "/v1/"])
CALLS = st.sampled_from(["", "/chat/completions", "/messages", "/models"])


@given(HOSTS, ENDS)
def test_a_version_and_a_slash_change_nothing(host: str, end: str) -> None:
    written = f"https://{host}{end}"
    assert versioned(written) == f"https://{host}/v1"
    assert versioned(versioned(written)) == versioned(written)
    lean = OpenAICompatProvider("x", written, clock=SystemClock())
    native = AnthropicProvider("x", written, clock=SystemClock())
    assert lean.api_base == native.api_base == f"https://{host}/v1"


@given(HOSTS, PATHS, ENDS, CALLS)
def test_of_an_api_that_has_a_version_it_is_below_every_path(
    host: str, path: str, end: str, call: str
) -> None:
    written = f"https://{host}{path}{end.rstrip('/')}{call}"
    native = AnthropicProvider("x", written, clock=SystemClock())
    assert native.api_base == f"https://{host}{path}/v1"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://api.z.ai/api/paas/v4/", "https://api.z.ai/api/paas/v4"),
        ("https://g.example/v1beta/openai", "https://g.example/v1beta/openai"),
        ("https://x.example/inference", "https://x.example/inference"),
        ("https://api.perplexity.ai", "https://api.perplexity.ai"),
        ("http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        (" http://127.0.0.1:8000 ", "http://127.0.0.1:8000/v1"),
    ],
)
def test_an_address_with_a_path_of_its_own_stays(written: str, meant: str) -> None:
    assert versioned(written) == meant


@pytest.mark.parametrize("end", ["", "/", "/v1beta", "/v1beta/"])
def test_geminis_version_is_its_own(end: str) -> None:
    provider = GeminiProvider("x", f"https://g.example{end}", clock=SystemClock())
    assert provider.api_base == "https://g.example/v1beta"


def test_openrouter_hands_on_what_claude_is_to_keep() -> None:
    openrouter = OpenAICompatProvider("o", "https://openrouter.ai/api/v1", clock=SystemClock())
    other = OpenAICompatProvider("o", "https://api.example.com/v1", clock=SystemClock())
    for provider, model, kept in (
        (openrouter, "anthropic/claude-sonnet-5-5", True),
        (openrouter, "openai/gpt-6-luna", False),
        (other, "anthropic/claude-sonnet-5-5", False),
    ):
        history = replace(ask("one", "two", "three"), model=model)
        quirks: Quirks = provider._first_quirks
        body = encode_request(history, quirks)
        assert (b"cache_control" in body) == kept
        assert body.count(b"cache_control") == (2 if kept else 0)
