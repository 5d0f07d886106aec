"""What other plugins use of the plugin `models`, and how they say what a model can do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from nanobot.providers.base import ModelProfile
from nanobot.providers.model_choice import ModelChoice
from nanobot.seam.installed import Interface

NAMED_MODELS: Interface[
    Callable[[Mapping[str, Any], Mapping[str, str]], Coroutine[Any, Any, None]]
] = Interface("named_models")
"""Checks the models that keys of the configuration name before these are written."""

NEWEST_MODEL: Interface[Callable[[ModelChoice], Awaitable[str]]] = Interface("newest_model")
"""The newest model of the line of a choice that its endpoint lists."""


def abilities(profile: ModelProfile) -> str:
    """A model's capabilities, in words."""
    tools = "tools" if profile.tools else "no tools"
    images = "images" if profile.images else "no images"
    return f"{profile.context_tokens:,} tokens, {tools}, {images}"
