"""What models can do, as a table.

A model that is not in it gets the usual; a wrong guess costs an error text from the provider, never
a crash.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from nanobot.providers.base import ModelProfile


class _Family(msgspec.Struct, frozen=True):
    """One row of capabilities: what models of this provider and name can do."""

    provider: str
    model: str
    context: int
    tools: bool = True
    images: bool = False
    small: bool = False


# The first match holds. Patterns are shell patterns over lower-case names; where a provider
# resells others ("meta-llama/Llama-3.3"), the part after the last slash is matched too.
_FAMILIES: tuple[_Family, ...] = (
    _Family("embedded", "*", 2_048, tools=False, small=True),
    # Whatever a model could do, these serve the context they were started with (4,096 at first):
    # twice that is what a person who wants tools gives them.
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


def profile_for(provider: str, model: str) -> ModelProfile:
    """What a model can do, by the table; for an unknown one 128,000 tokens, tools, no images."""
    return known_profile(provider, model) or ModelProfile(name=model, provider=provider)


@lru_cache(maxsize=256)  # 60 us, some times a turn, for a few models
def known_profile(provider: str, model: str) -> ModelProfile | None:
    """What a model can do, by the table; None if no row is about it."""
    whole = model.lower()
    last = whole.rsplit("/", 1)[-1]
    for row in _FAMILIES:
        if not fnmatchcase(provider, row.provider):
            continue
        if fnmatchcase(whole, row.model) or fnmatchcase(last, row.model):
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
