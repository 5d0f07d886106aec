"""The promised import path of LiteLLMProvider, which the plugin `litellm` provides; the file with
the ending .pyi says the same to type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nanobot.seam.faces import Interface
from nanobot.seam.installed import provided

LITELLM_PROVIDER: Interface[Callable[..., Any]] = Interface("litellm_provider")
"""The class LiteLLMProvider."""


def __getattr__(name: str) -> Callable[..., Any]:
    if name != "LiteLLMProvider":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    provider = provided(LITELLM_PROVIDER)
    if provider is None:
        raise ImportError(
            "LiteLLMProvider belongs to the plugin litellm, which is not there: `nanobot plugins "
            "list` says why"
        )
    return provider
