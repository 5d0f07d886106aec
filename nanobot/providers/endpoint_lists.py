"""The list of models that an endpoint gives."""

from __future__ import annotations

import asyncio

import aiohttp
import msgspec

from nanobot.providers.openai_http import EndpointClient

_MAX_BYTES = 4_000_000


class _Listed(msgspec.Struct):
    id: str = ""
    name: str = ""


class _Listing(msgspec.Struct):
    """OpenAI's and Anthropic's lists use `data`; Gemini's uses `models`, with names like
    "models/NAME".
    """

    data: list[_Listed] = []
    models: list[_Listed] = []

    @property
    def names(self) -> list[str]:
        """The names used in requests."""
        rows = [row.id for row in self.data]
        rows += [row.name.removeprefix("models/") for row in self.models]
        return [name for name in rows if name]


async def listed_at(endpoint: EndpointClient, path: str, seconds: float) -> list[str] | None:
    """The models that an endpoint lists at that path; None if there is no list in time. Closes
    `endpoint`."""
    try:
        async with asyncio.timeout(seconds):
            response = await endpoint.get(path)
            body = await response.content.read(_MAX_BYTES)
        return msgspec.json.decode(body, type=_Listing).names
    except (aiohttp.ClientError, OSError, ValueError, RecursionError):
        return None
    finally:
        await endpoint.close()
