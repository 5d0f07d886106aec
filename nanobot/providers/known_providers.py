"""The providers that are known by name: where they are, and where their keys are usually kept."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from nanobot.config.values import masked_url
from nanobot.errors import ConfigError
from nanobot.providers.addresses import versioned


class KnownProvider(msgspec.Struct, frozen=True):
    """An endpoint we know. `env` names the variables its key is usually kept in, best first, and
    `base_env` those that say that it is elsewhere. `client` is how it is reached; where that is not
    "lean", `compatible_base` is its OpenAI-compatible address, if that is another one."""

    api_base: str
    env: tuple[str, ...] = ()
    default_model: str = ""
    title: str = ""
    base_env: tuple[str, ...] = ()
    client: str = "lean"
    compatible_base: str = ""

    def address_in(self, environ: Mapping[str, str]) -> tuple[str, str]:
        """The variable that says where it is, and the address; both empty where none does. Raises
        ConfigError for one that is no address."""
        for variable in self.base_env:
            if text := environ.get(variable, "").strip():
                return variable, _address(text, variable)
        return "", ""


def _address(text: str, variable: str) -> str:
    """The address of an OpenAI-compatible endpoint, as programs of each provider write it."""
    if variable == "OLLAMA_HOST":
        scheme, _, rest = text.rpartition("://")
        host, colon, port = rest.rstrip("/").rpartition(":")
        host, port = (host, port) if colon and port.isdecimal() else (rest.rstrip("/"), "11434")
        # What it listens at is no address to connect to.
        host = "127.0.0.1" if host in ("", "0.0.0.0", "[::]") else host  # noqa: S104
        text = f"{scheme or 'http'}://{host}:{port}"
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConfigError(
            f"the variable {variable} is {masked_url(text)!r}, which is no address: write it as "
            "https://HOST/v1, or unset it"
        )
    return versioned(text)


LOCAL_PROVIDERS = ("ollama", "lmstudio", "llamacpp", "vllm")
"""Servers of one's own models, in the order in which `auto` looks for them on this machine."""

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
