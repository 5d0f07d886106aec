"""Asks an endpoint about models that no table contains."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from nanobot.text import pattern

_SECONDS = 2.0
_MAX_BYTES = 8_000_000
_SMALLEST_CONTEXT, _LARGEST_CONTEXT = 512, 100_000_000
_NUM_CTX = pattern(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
# Each server has its own field for the context size; the size in use comes first.
_CONTEXTS = (
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "max_context_length",
    "context_window",
    "n_ctx",
)


class ModelDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A model's capabilities; None: unknown."""

    context: int | None = None
    tools: bool | None = None
    images: bool | None = None


async def ask_details(api_base: str, api_key: str, model: str) -> ModelDetails | None:
    """The endpoint's details of a model, within two seconds. None if there is no answer; if it
    contains nothing useful, the details are empty.
    """
    try:
        async with asyncio.timeout(_SECONDS):
            listing = await _get(f"{api_base}/models", api_key)
            entry = _entry(listing, model)
            details = _of_entry(entry)
            special = await _of_server(api_base, api_key, model, entry)
    except (OSError, ValueError, RecursionError):
        return None
    return ModelDetails(
        context=details.context if special.context is None else special.context,
        tools=details.tools if special.tools is None else special.tools,
        images=details.images if special.images is None else special.images,
    )


async def _of_server(
    api_base: str, api_key: str, model: str, entry: Mapping[str, Any]
) -> ModelDetails:
    """The details from servers with a separate endpoint for them, recognized by their listing."""
    root = api_base.removesuffix("/v1")
    match entry.get("owned_by"):
        case "library":
            body = msgspec.json.encode({"model": model})
            return _of_ollama(await _get(f"{root}/api/show", api_key, body))
        case "llamacpp":
            return _of_llamacpp(await _get(f"{root}/props", api_key))
        case "organization_owner":
            name = quote(model, safe="")
            return _of_lmstudio(await _get(f"{root}/api/v0/models/{name}", api_key))
        case _:
            return ModelDetails()


def _entry(listing: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    rows = listing.get("data")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("id") == model:
            return row
    return {}


def _of_entry(entry: Mapping[str, Any]) -> ModelDetails:
    """vLLM, OpenRouter, Mistral, Groq, Together and others include the details in the listing
    itself.
    """
    capabilities = _table(entry.get("capabilities"))
    inputs = _table(entry.get("architecture")).get("input_modalities")
    parameters = entry.get("supported_parameters")
    return ModelDetails(
        context=_context(entry),
        tools=_flag(capabilities.get("function_calling"))
        if "function_calling" in capabilities
        else _among("tools", parameters),
        images=_flag(capabilities.get("vision"))
        if "vision" in capabilities
        else _among("image", inputs),
    )


def _of_ollama(shown: Mapping[str, Any]) -> ModelDetails:
    # The training context is irrelevant: the model is served with num_ctx, if that is set.
    num_ctx = _NUM_CTX.search(str(shown.get("parameters", "")))
    capabilities = shown.get("capabilities")
    return ModelDetails(
        context=_context({"n_ctx": int(num_ctx[1][:12])}) if num_ctx else None,
        tools=_among("tools", capabilities),
        images=_among("vision", capabilities),
    )


def _of_llamacpp(props: Mapping[str, Any]) -> ModelDetails:
    vision = _table(props.get("modalities")).get("vision")
    return ModelDetails(
        context=_context(_table(props.get("default_generation_settings"))), images=_flag(vision)
    )


def _of_lmstudio(entry: Mapping[str, Any]) -> ModelDetails:
    kind = entry.get("type")
    return ModelDetails(
        context=_context({"n_ctx": entry.get("loaded_context_length")}),
        tools=_among("tool_use", entry.get("capabilities")),
        images=kind == "vlm" if isinstance(kind, str) else None,
    )


def _context(table: Mapping[str, Any]) -> int | None:
    for key in _CONTEXTS:
        value = table.get(key)
        if type(value) is int and _SMALLEST_CONTEXT <= value <= _LARGEST_CONTEXT:
            return value
    return None


def _among(word: str, words: Any) -> bool | None:
    return word in words if isinstance(words, list) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


async def _get(url: str, api_key: str, body: bytes | None = None) -> Mapping[str, Any]:
    """The JSON object at an address, {} if there is none; raises OSError if there is no answer."""
    import aiohttp  # noqa: PLC0415 - heavy, and not needed by commands that ask no model

    from nanobot.providers.openai_http import EndpointClient  # noqa: PLC0415

    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    client = EndpointClient(url, headers, _SECONDS)
    try:
        response = await (client.get() if body is None else client.post(body))
        if response.status != 200:
            return {}
        content = await response.content.read(_MAX_BYTES)
        while not response.content.at_eof() and len(content) < _MAX_BYTES:
            content += await response.content.read(_MAX_BYTES)
        return _table(msgspec.json.decode(content))
    except aiohttp.ClientError as error:
        raise OSError(str(error)) from error
    finally:
        await client.close()
