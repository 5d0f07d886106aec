"""Suggests models of an endpoint that does not have the requested one."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence

import aiohttp
import msgspec

from nanobot.errors import ModelRefused
from nanobot.providers.openai_errors import ProviderFailure
from nanobot.providers.openai_http import EndpointClient

_PATIENCE_SECONDS = 3.0
_MAX_BYTES = 4_000_000
_OFFERED = 3


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


async def with_nearest(
    failure: ProviderFailure, endpoint: EndpointClient, model: str, path: str = "/models"
) -> ProviderFailure:
    """The failure, with the names most similar to `model` that the endpoint lists added to its
    text.

    If there is no list within three seconds, the failure stays unchanged. Closes `endpoint`.
    """
    listed = await listed_at(endpoint, path, _PATIENCE_SECONDS)
    if listed is None:
        return failure
    if len(listed) <= _OFFERED:  # a short list is shown completely
        return _naming(failure, "It has", [name for name in listed if name != model])
    return naming(failure, "It has", model, listed)


def naming(
    failure: ProviderFailure, introduction: str, model: str, listed: Sequence[str]
) -> ProviderFailure:
    """The failure, with the most similar of these names added to its text."""
    return _naming(failure, introduction, nearest(model, listed))


def _naming(failure: ProviderFailure, introduction: str, models: list[str]) -> ProviderFailure:
    if not models:
        return failure
    names = ", ".join(f'"{name}"' for name in models)
    error = ModelRefused(f"{failure.error} {introduction} {names}.")
    return msgspec.structs.replace(failure, error=error)


def nearest(model: str, listed: Sequence[str]) -> list[str]:
    """At most three names, the most similar first."""
    # People often get the case wrong, or leave out the part before the last slash.
    by_shape: dict[str, str] = {}
    for name in listed:
        by_shape.setdefault(name.lower(), name)
        by_shape.setdefault(name.lower().rsplit("/", 1)[-1], name)
    alike = difflib.get_close_matches(model.lower(), by_shape, n=2 * _OFFERED, cutoff=0.5)
    names = dict.fromkeys(by_shape[shape] for shape in alike)
    return [name for name in names if name != model][:_OFFERED]
