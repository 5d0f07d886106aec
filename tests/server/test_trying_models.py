"""A model that is tried at an address that is none: the page says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.housing import house

ADDRESSES = (
    *("10.0.0.7:8000", "localhost", "ftp://a.example", "http://", "http://[", "http://a:99999"),
    *("https://a b.example", "http://a:x", "//a.example/v1", "http:/a.example"),
)


async def test_an_address_that_is_none_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        for address in ADDRESSES:
            for name in ("home/m", "anthropic/m", "gemini/m", "openai/m"):
                code, answer = await owner.post("/api/models/try", name=name, api_base=address)
                assert code == 400, (address, answer)
                assert "api_base" in answer["error"]["message"]


@pytest.mark.parametrize("key", ["providers.home.api_base", "tools.web.searxng_url"])
async def test_a_key_that_takes_an_address_takes_nothing_else(tmp_path: Path, key: str) -> None:
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        for address in ADDRESSES:
            code, answer = await owner.post("/api/config/set", key=key, text=address)
            assert code == 400, (address, answer)
            assert "URL" in answer["error"]["message"]
