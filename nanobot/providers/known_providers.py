"""The known providers: their base URLs, and the environment variables that usually contain their
keys.
"""

from __future__ import annotations

from collections.abc import Mapping

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

# In the order in which `auto` looks for keys.
KNOWN_PROVIDERS: dict[str, KnownProvider] = {
    "openai": KnownProvider(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        "gpt-6-luna",
        title="OpenAI",
        base_env=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    ),
    "anthropic": KnownProvider(
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        "claude-sonnet-5-5",
        title="Anthropic (Claude)",
        base_env=("ANTHROPIC_BASE_URL",),
        client="anthropic",
    ),
    "gemini": KnownProvider(
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-3.8-flash",
        title="Google Gemini",
        client="gemini",
        compatible_base="https://generativelanguage.googleapis.com/v1beta/openai",
    ),
    "openrouter": KnownProvider(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        "openrouter/auto",
        title="OpenRouter",
        base_env=("OPENROUTER_BASE_URL", "OPENROUTER_API_BASE"),
    ),
    "deepseek": KnownProvider(
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        "deepseek-flash",
        title="DeepSeek",
        base_env=("DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"),
    ),
    "groq": KnownProvider(
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        "openai/gpt-oss-120b",
        title="Groq",
    ),
    "mistral": KnownProvider(
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        "mistral-small-latest",
        title="Mistral",
    ),
    "xai": KnownProvider(
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        "grok-4.7",
        title="xAI (Grok)",
    ),
    "together": KnownProvider(
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY",),
        "deepseek-ai/DeepSeek-V4.1-Flash",
        title="Together",
    ),
    "fireworks": KnownProvider(
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        "accounts/fireworks/models/deepseek-v4p1-flash",
        title="Fireworks",
    ),
    "cerebras": KnownProvider(
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        "gpt-oss-120b",
        title="Cerebras",
    ),
    "moonshot": KnownProvider(
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        "kimi-k2.6",
        title="Moonshot (Kimi)",
    ),
    "dashscope": KnownProvider(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        "qwen3.8-flash",
        title="Alibaba DashScope (Qwen)",
    ),
    "zai": KnownProvider(
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY",),
        "glm-5.3-flash",
        title="Z.ai (GLM)",
    ),
    "ollama": KnownProvider(
        "http://127.0.0.1:11434/v1",
        title="Ollama",
        base_env=("OLLAMA_HOST",),
    ),
    "lmstudio": KnownProvider(
        "http://127.0.0.1:1234/v1",
        title="LM Studio",
    ),
    "llamacpp": KnownProvider(
        "http://127.0.0.1:8080/v1",
        title="llama.cpp",
    ),
    "vllm": KnownProvider(
        "http://127.0.0.1:8000/v1",
        title="vLLM",
    ),
}
