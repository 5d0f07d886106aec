"""Models that no table knows: their endpoint is asked, or it is said once what is assumed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loguru import logger

from nanobot.config.settings.agent import ModelSettings, PriceSettings, ProviderSettings
from nanobot.plugins.models.details import ModelDetails, ask_details
from nanobot.providers.registry import ProviderRegistry
from nanobot.testing.machine import ManualClock


class Endpoint:
    """A server that answers these paths with these documents; it keeps what was asked."""

    def __init__(self, pages: Mapping[str, Any]) -> None:
        self.pages = pages
        self.asked: list[str] = []
        self.base = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(f"{request.method} {request.path}")
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="no such page")
        return web.Response(body=page) if isinstance(page, bytes) else web.json_response(page)


@asynccontextmanager
async def serving(pages: Mapping[str, Any], port: int = 0) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(pages)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", endpoint.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    endpoint.base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield endpoint
    await runner.cleanup()


def listing(**entry: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "other"}, {"id": "mine", **entry}]}


OLLAMA = {
    "/v1/models": listing(owned_by="library"),
    "/api/show": {
        "parameters": "stop    x\nnum_ctx                        16384",
        "model_info": {"llama.context_length": 131072},
        "capabilities": ["completion", "tools", "vision"],
    },
}
LLAMACPP = {
    "/v1/models": listing(owned_by="llamacpp", meta={"n_ctx_train": 131072}),
    "/props": {"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": True}},
}
LMSTUDIO = {
    "/v1/models": listing(owned_by="organization_owner"),
    "/api/v0/models/mine": {"type": "vlm", "loaded_context_length": 6000, "capabilities": []},
}
OPENROUTER = {
    "/v1/models": listing(
        context_length=262144,
        architecture={"input_modalities": ["text", "image"]},
        supported_parameters=["temperature"],
    )
}
MISTRAL = {
    "/v1/models": listing(
        max_context_length=32768, capabilities={"function_calling": True, "vision": False}
    )
}


@pytest.mark.parametrize(
    ("pages", "details"),
    [
        (OLLAMA, ModelDetails(context=16384, tools=True, images=True)),
        (LLAMACPP, ModelDetails(context=4096, images=True)),
        (LMSTUDIO, ModelDetails(context=6000, tools=False, images=True)),
        (OPENROUTER, ModelDetails(context=262144, tools=False, images=True)),
        (MISTRAL, ModelDetails(context=32768, tools=True, images=False)),
        ({"/v1/models": listing(max_model_len=40960)}, ModelDetails(context=40960)),
        ({"/v1/models": {"data": [{"id": "other", "max_model_len": 9000}]}}, ModelDetails()),
    ],
)
async def test_every_kind_of_server_says_it_in_its_own_way(
    pages: Mapping[str, Any], details: ModelDetails
) -> None:
    async with serving(pages) as endpoint:
        assert await ask_details(endpoint.base, "", "mine") == details


@pytest.mark.parametrize(
    "page",
    [
        *(b"", b"[]", b"{}", b'{"data": 7}', b'{"data": [7, {"id": "mine"}]}', b"<html>"),
        b'{"data": [{"id": "mine", "max_model_len": -1, "capabilities": 3, "architecture": []}]}',
        b'{"data": [{"id": "mine", "max_model_len": true, "context_length": 1e99}]}',
        b"[" * 100_000,
    ],
)
async def test_a_listing_that_makes_no_sense_tells_nothing(page: bytes) -> None:
    async with serving({"/v1/models": page}) as endpoint:
        assert await ask_details(endpoint.base, "", "mine") in (None, ModelDetails())


async def test_what_the_endpoint_says_holds_and_it_is_asked_once(tmp_path: Path) -> None:
    async with serving(MISTRAL) as endpoint:
        providers = {"home": ProviderSettings(api_base=endpoint.base)}
        registry = ProviderRegistry("home/mine", providers, {}, tmp_path, ManualClock())
        for _ in range(3):
            _, profile = await registry.pick()
            assert (profile.context_tokens, profile.tools) == (32768, True)
        assert endpoint.asked == ["GET /v1/models"]
        await registry.close()


async def test_the_configuration_is_stronger_than_what_the_endpoint_says(tmp_path: Path) -> None:
    async with serving(MISTRAL) as endpoint:
        own = ModelSettings(images=True, price=PriceSettings(prompt=1.0, completion=2.0))
        providers = {"home": ProviderSettings(api_base=endpoint.base, models={"mine": own})}
        registry = ProviderRegistry("home/mine", providers, {}, tmp_path, ManualClock())
        _, profile = await registry.pick()
        assert (profile.context_tokens, profile.images) == (32768, True)
        assert profile.price is not None
        assert profile.price.completion == 2e-06
        await registry.close()


async def test_where_nobody_says_it_what_is_assumed_is_said_once_and_asked_again_later(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    lines: list[str] = []
    handler = logger.add(lambda line: lines.append(str(line)), format="{message}")
    clock = ManualClock()
    providers = {"home": ProviderSettings(api_base=f"http://127.0.0.1:{unused_tcp_port}/v1")}
    registry = ProviderRegistry("home/mine", providers, {}, tmp_path, clock)
    for _ in range(3):
        _, profile = await registry.pick()
        assert profile.context_tokens == 128_000
    logger.remove(handler)
    (assumed,) = [line for line in lines if "assumed" in line]
    assert "home/mine is in no table, so this is assumed: 128,000 tokens, tools" in assumed
    assert 'set [providers.home.models."mine"]' in assumed
    async with serving(MISTRAL, unused_tcp_port):
        assert (await registry.pick())[1].context_tokens == 128_000
        clock.advance(61)
        assert (await registry.pick())[1].context_tokens == 32_768
    await registry.close()


async def test_models_of_public_providers_that_are_in_the_table_are_not_asked_about(
    tmp_path: Path,
) -> None:
    async with serving(MISTRAL) as endpoint:
        providers = {"openai": ProviderSettings(api_key="k", api_base=endpoint.base)}
        registry = ProviderRegistry("openai/gpt-4o", providers, {}, tmp_path, ManualClock())
        _, profile = await registry.pick()
        assert profile.images
        assert endpoint.asked == []
        await registry.close()
