"""Addresses of models' endpoints, as people write them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"/v\d+[a-z]*\d*$")
# Paths of single calls, which are pasted with the address.
_CALLS = re.compile(r"/(?:chat/completions|completions|messages|models|responses)$")
_WITHOUT_VERSION = frozenset({"api.perplexity.ai"})


def versioned(api_base: str, version: str = "v1", *, below_paths: bool = False) -> str:
    """The address with its version, whether it was written with it, with a slash behind it, or
    with the path of a call.

    The version is added where the address has no path. `below_paths`: where it has one, too,
    because this API always has its version (Anthropic's, Gemini's); of OpenAI-compatible ones many
    have none ("https://api.example.com/inference").
    """
    base = _CALLS.sub("", api_base.strip().rstrip("/")).rstrip("/")
    _, _, rest = base.partition("://")
    host, slash, _ = rest.partition("/")
    if _VERSION.search(base) or host.rpartition("@")[2] in _WITHOUT_VERSION:
        return base
    return base if slash and not below_paths else f"{base}/{version}"


def unversioned(api_base: str) -> str:
    """The address without its version, for clients that add that themselves."""
    return _VERSION.sub("", versioned(api_base))
