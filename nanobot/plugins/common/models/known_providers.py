"""The known providers: their base URLs, and the environment variables that usually contain their
keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nanobot.config.settings.base import is_usable_url
from nanobot.config.values import masked_url
from nanobot.errors import ConfigError
from nanobot.providers.addresses import versioned


class KnownProvider(msgspec.Struct, frozen=True):
    """A known endpoint."""

    api_base: str
    env: tuple[str, ...] = ()
    """The variables that usually contain its key, best first."""
    default_model: str = ""
    title: str = ""
    base_env: tuple[str, ...] = ()
    """The variables that override its URL."""
    client: str = "lean"
    """The client used for it."""
    compatible_base: str = ""
    """Its OpenAI-compatible URL, if the client is not "lean" and this URL differs."""

    def address_in(self, environ: Mapping[str, str]) -> tuple[str, str]:
        """The variable that sets its URL, and the URL; both "" if none is set. Raises ConfigError
        for an invalid one.
        """
        for variable in self.base_env:
            if text := environ.get(variable, "").strip():
                return variable, _address(text, variable)
        return "", ""


def _address(text: str, variable: str) -> str:
    """The base URL of an OpenAI-compatible endpoint, in the form that its programs use."""
    if variable == "OLLAMA_HOST":
        scheme, _, rest = text.rpartition("://")
        host, colon, port = rest.rstrip("/").rpartition(":")
        host, port = (host, port) if colon and port.isdecimal() else (rest.rstrip("/"), "11434")
        # An address to listen on is not an address to connect to.
        host = "127.0.0.1" if host in ("", "0.0.0.0", "[::]") else host  # noqa: S104
        text = f"{scheme or 'http'}://{host}:{port}"
    if not is_usable_url(text):
        raise ConfigError(
            f"the variable {variable} is {masked_url(text)!r}, which is not an address: write it "
            f"as "
            "https://HOST/v1, or unset it"
        )
    return versioned(text)


LOCAL_PROVIDERS = ("ollama", "lmstudio", "llamacpp", "vllm")
"""Self-hosted model servers, in the order in which `auto` looks for them on this machine."""


def _keyed(
    name: str, api_base: str, default_model: str, title: str, **more: Any
) -> tuple[str, KnownProvider]:
    """A provider whose key is in NAME_API_KEY."""
    env = (f"{name.upper()}_API_KEY",)
    return name, KnownProvider(api_base, env, default_model, title, **more)


# In the order in which `auto` looks for keys.
KNOWN_PROVIDERS: dict[str, KnownProvider] = dict(
    (
        _keyed(
            "openai",
            "https://api.openai.com/v1",
            "gpt-6-luna",
            "OpenAI",
            base_env=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        ),
        _keyed(
            "anthropic",
            "https://api.anthropic.com/v1",
            "claude-sonnet-5-5",
            "Anthropic (Claude)",
            base_env=("ANTHROPIC_BASE_URL",),
            client="anthropic",
        ),
        (
            "gemini",
            KnownProvider(
                "https://generativelanguage.googleapis.com/v1beta",
                ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
                "gemini-3.8-flash",
                "Google Gemini",
                client="gemini",
                compatible_base="https://generativelanguage.googleapis.com/v1beta/openai",
            ),
        ),
        _keyed(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "openrouter/auto",
            "OpenRouter",
            base_env=("OPENROUTER_BASE_URL", "OPENROUTER_API_BASE"),
        ),
        _keyed(
            "deepseek",
            "https://api.deepseek.com/v1",
            "deepseek-flash",
            "DeepSeek",
            base_env=("DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"),
        ),
        _keyed("groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", "Groq"),
        _keyed("mistral", "https://api.mistral.ai/v1", "mistral-small-latest", "Mistral"),
        _keyed("xai", "https://api.x.ai/v1", "grok-4.7", "xAI (Grok)"),
        _keyed(
            "together",
            "https://api.together.xyz/v1",
            "deepseek-ai/DeepSeek-V4.1-Flash",
            "Together",
        ),
        _keyed(
            "fireworks",
            "https://api.fireworks.ai/inference/v1",
            "accounts/fireworks/models/deepseek-v4p1-flash",
            "Fireworks",
        ),
        _keyed("cerebras", "https://api.cerebras.ai/v1", "gpt-oss-120b", "Cerebras"),
        _keyed("moonshot", "https://api.moonshot.ai/v1", "kimi-k2.6", "Moonshot (Kimi)"),
        _keyed(
            "dashscope",
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "qwen3.8-flash",
            "Alibaba DashScope (Qwen)",
        ),
        _keyed("zai", "https://api.z.ai/api/paas/v4", "glm-5.3-flash", "Z.ai (GLM)"),
        (
            "ollama",
            KnownProvider("http://127.0.0.1:11434/v1", title="Ollama", base_env=("OLLAMA_HOST",)),
        ),
        ("lmstudio", KnownProvider("http://127.0.0.1:1234/v1", title="LM Studio")),
        ("llamacpp", KnownProvider("http://127.0.0.1:8080/v1", title="llama.cpp")),
        ("vllm", KnownProvider("http://127.0.0.1:8000/v1", title="vLLM")),
    )
)
