"""Parses base URLs of model endpoints in the forms that people write."""

from __future__ import annotations

from nanobot.text import pattern

VERSION = pattern(r"/v\d+[a-z]*\d*$")
"""The version at the end of a base URL."""
# Paths of single calls, which people paste with the base URL.
_CALLS = pattern(r"/(?:chat/completions|completions|messages|models|responses)$")
_WITHOUTVERSION = frozenset({"api.perplexity.ai"})


def versioned(api_base: str, version: str = "v1", *, below_paths: bool = False) -> str:
    """The base URL with its version, whether it was written with the version, with a trailing
    slash, or with the path of a call.

    A version is added if the URL has no path. `below_paths`: it is also added if there is a path,
    because this API always has a version (Anthropic's, Gemini's); many OpenAI-compatible ones have
    none ("https://api.example.com/inference").
    """
    base = _CALLS.sub("", api_base.strip().rstrip("/")).rstrip("/")
    _, _, rest = base.partition("://")
    host, slash, _ = rest.partition("/")
    if VERSION.search(base) or host.rpartition("@")[2] in _WITHOUTVERSION:
        return base
    return base if slash and not below_paths else f"{base}/{version}"
