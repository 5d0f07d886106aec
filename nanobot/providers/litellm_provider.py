"""The promised import path of the LiteLLMProvider."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "litellm", "nanobot.plugins.litellm.provider")
