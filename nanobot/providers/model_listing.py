"""The models that an endpoint lists, and the newest model of a line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import msgspec

from nanobot.providers.addresses import versioned
from nanobot.providers.model_choice import EMBEDDED_MODEL, ModelChoice

_PATIENCE_SECONDS = 5.0
_MAX_BYTES = 4_000_000
_NUMBER = re.compile(r"\d+(?:[.p]\d+)?")
_SNAPSHOT = re.compile(r"\d{4}|-(?:preview|exp|experimental|latest)\b|-\d{3}$")
"""A dated or numbered snapshot, or a preview: such names are removed later."""


async def listed_models(choice: ModelChoice) -> list[str] | None:
    """The names in the endpoint's list; None if there is no answer within five seconds."""
    if choice.client == "embedded":
        return [EMBEDDED_MODEL]
    if not choice.api_base:
        return None
    import aiohttp  # noqa: PLC0415 - 0.15 s that commands without a model's name should not pay

    from nanobot.providers.anthropic import VERSION  # noqa: PLC0415
    from nanobot.providers.openai_http import EndpointClient  # noqa: PLC0415
    from nanobot.providers.suggestions import Listing  # noqa: PLC0415

    if choice.client == "gemini":
        base = versioned(choice.api_base, "v1beta", below_paths=True)
        headers, path = {"x-goog-api-key": choice.api_key}, "/models?pageSize=1000"
    elif choice.client == "anthropic":
        base = versioned(choice.api_base, below_paths=True)
        headers = {"x-api-key": choice.api_key, "anthropic-version": VERSION}
        path = "/models?limit=1000"
    else:
        base, path = versioned(choice.api_base), "/models"
        headers = {"Authorization": f"Bearer {choice.api_key}"} if choice.api_key else {}
    client = EndpointClient(base, headers, _PATIENCE_SECONDS)
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            response = await client.get(path)
            body = await response.content.read(_MAX_BYTES)
        listing = msgspec.json.decode(body, type=Listing)
    except (aiohttp.ClientError, OSError, ValueError, RecursionError):
        return None
    finally:
        await client.close()
    return listing.names or None


def line_of(name: str) -> tuple[str, tuple[float, ...]]:
    """A model's line and its version: "gpt-5.4-mini" is 5.4 of "gpt-*-mini". The properties for
    which a line is chosen (its price, its speed) stay when its version increases.
    """
    numbers = tuple(float(number.replace("p", ".")) for number in _NUMBER.findall(name))
    return re.sub(r"\d+(?:[.p-]\d+)*", "*", name), numbers


def newest(default: str, listed: Sequence[str]) -> str:
    """The newest listed model of the line of `default`, without snapshots and previews; `default`
    itself if none is newer.
    """
    line, version = line_of(default)
    best, found = version, default
    for name in listed:
        own, number = line_of(name)
        if own == line and number > best and not _SNAPSHOT.search(name):
            best, found = number, name
    return found
