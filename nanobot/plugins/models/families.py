"""Models' capabilities, as a table.

A model that is not listed gets defaults; a wrong guess results in an error from the provider, never
in a crash.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from nanobot.providers.base import ModelProfile


class _Family(msgspec.Struct, frozen=True):
    """One row: the capabilities of models of this provider with this name."""

    provider: str
    model: str
    context: int
    tools: bool = True
    images: bool = False
    small: bool = False


# The first match wins. Patterns are shell patterns for lower-case names. For providers that resell
# other models ("meta-llama/Llama-3.3"), the part after the last slash is matched too.
_FAMILIES: tuple[_Family, ...] = (
    _Family("embedded", "*", 2_048, tools=False, small=True),
    # These servers limit every model to the context they were started with (4,096 by default);
    # twice that is a typical setting of people who want tools.
    _Family("ollama", "*vl*", 8_192, images=True),
    _Family("ollama", "*llava*", 8_192, tools=False, images=True),
    _Family("ollama", "gemma3*", 8_192, tools=False, images=True),
    _Family("ollama", "*", 8_192),
    _Family("lmstudio", "*", 8_192),
    _Family("llamacpp", "*", 8_192),
    _Family("groq", "*", 131_072),
    _Family("cerebras", "*", 65_536),
    _Family("*", "smollm*", 2_048, tools=False, small=True),
    _Family("*", "gpt-5*", 400_000, images=True),
    _Family("*", "gpt-4.1*", 1_000_000, images=True),
    _Family("*", "gpt-4o*", 128_000, images=True),
    _Family("*", "gpt-3.5*", 16_385),
    _Family("*", "gpt-oss*", 131_072),
    _Family("*", "o[1345]-mini*", 128_000),
    _Family("*", "o[134]*", 200_000, images=True),
    _Family("*", "claude*", 200_000, images=True),
    _Family("*", "gemini*", 1_000_000, images=True),
    _Family("*", "gemma-3*", 128_000, tools=False, images=True),
    _Family("*", "deepseek*", 128_000),
    _Family("*", "pixtral*", 128_000, images=True),
    _Family("*", "mistral-small*", 128_000, images=True),
    _Family("*", "mistral-medium*", 128_000, images=True),
    _Family("*", "*stral*", 128_000),
    _Family("*", "grok-4*", 256_000, images=True),
    _Family("*", "grok*", 131_072),
    _Family("*", "llama-4*", 256_000, images=True),
    _Family("*", "llama*", 128_000),
    _Family("*", "qwen*vl*", 128_000, images=True),
    _Family("*", "qwen*", 128_000),
    _Family("*", "kimi*", 256_000),
    _Family("*", "glm-*v*", 65_536, images=True),
    _Family("*", "glm-*", 128_000),
    _Family("openrouter", "auto", 128_000, images=True),
)


@lru_cache(maxsize=256)  # 60 us, several times per turn, for a few models
def known_profile(provider: str, model: str) -> ModelProfile | None:
    """A model's capabilities according to the table; None if no row matches."""
    whole = model.lower()
    last = whole.rsplit("/", 1)[-1]
    for row in _FAMILIES:
        if row.provider not in ("*", provider):
            continue
        if _fits(whole, row.model) or _fits(last, row.model):
            return ModelProfile(
                name=model,
                provider=provider,
                context_tokens=row.context,
                tools=row.tools,
                images=row.images,
                helper_calls=not row.small,
                short_prompt=row.small,
                one_at_a_time=row.small,
            )
    return None


def _fits(name: str, model: str) -> bool:
    """Whether a name is of a pattern. A pattern is compiled only for names that begin as it does:
    most rows never see one."""
    begin = model.partition("*")[0].partition("[")[0]
    return name.startswith(begin) and fnmatchcase(name, model)
