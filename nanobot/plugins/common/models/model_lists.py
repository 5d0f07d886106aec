"""The models that servers list at an address, also of servers on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS, LOCAL_PROVIDERS
from nanobot.providers.openai_errors import ProviderFailure
from nanobot.seam.installed import Interface

if TYPE_CHECKING:
    from nanobot.providers.openai_http import EndpointClient

SIMILAR_NAMES: Interface[Callable[..., ProviderFailure]] = Interface("similar_names")
"""Adds similar names to a failure; see `nanobot.plugins.models.similar.naming_similar`."""

PROBE_SECONDS = 0.3
_MAX_BYTES = 4_000_000

_NOT_FOR_CHAT = ("embed", "bge-", "minilm", "rerank", "whisper", "tts")

Probe: TypeAlias = Callable[[str], Coroutine[Any, Any, tuple[str, ...] | None]]
"""Maps a listing's URL to the models it lists, best first; None if there is no answer."""


class _Listed(msgspec.Struct):
    id: str = ""
    name: str = ""


class _Listing(msgspec.Struct):
    """OpenAI's and Anthropic's lists use `data`; Gemini's uses `models`, with names like
    "models/NAME".
    """

    models: list[_Listed] = []
    data: list[_Listed] = []

    @property
    def names(self) -> list[str]:
        """The names used in requests."""
        rows = (row.id or row.name.removeprefix("models/") for row in (*self.models, *self.data))
        return [name for name in rows if name]


async def http_probe(url: str) -> tuple[str, ...] | None:
    """The models listed at `url` (Ollama's /api/tags or an OpenAI-compatible /models).

    None if there is no answer within PROBE_SECONDS. Proxies are not used, because this is for
    loopback.
    """
    import aiohttp  # noqa: PLC0415  # 0.15 s that nobody with a configured model should pay

    try:
        async with (
            asyncio.timeout(PROBE_SECONDS),
            aiohttp.ClientSession() as client,
            client.get(url, allow_redirects=False) as answer,
        ):
            listing = msgspec.json.decode(await answer.read(), type=_Listing)
    except (aiohttp.ClientError, OSError, msgspec.DecodeError):
        return None
    return tuple(listing.names)


async def listed_at(endpoint: EndpointClient, path: str, seconds: float) -> list[str] | None:
    """The models that an endpoint lists at that path; None if there is no list in time. Closes
    `endpoint`."""
    import aiohttp  # noqa: PLC0415  # as above

    try:
        async with asyncio.timeout(seconds):
            response = await endpoint.get(path)
            body = await response.content.read(_MAX_BYTES)
        return msgspec.json.decode(body, type=_Listing).names
    except (aiohttp.ClientError, OSError, ValueError, RecursionError):
        return None
    finally:
        await endpoint.close()


def local_addresses(environ: Mapping[str, str]) -> dict[str, str]:
    """The usual addresses of model servers on this machine, best first, by name. An environment
    variable may override one.
    """
    return {
        name: KNOWN_PROVIDERS[name].address_in(environ)[1] or KNOWN_PROVIDERS[name].api_base
        for name in LOCAL_PROVIDERS
    }


def chat_models(names: tuple[str, ...] | None) -> list[str]:
    """The models that are not for embeddings or speech."""
    return [
        name
        for name in names or ()
        if name and not any(word in name.lower() for word in _NOT_FOR_CHAT)
    ]
