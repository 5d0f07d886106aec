"""A gateway without OpenAI's API says so to its clients, and serves everything else."""

from __future__ import annotations

from pathlib import Path

import openai
import pytest

from tests.server.housing import TOKEN, house

OFF = '[plugins]\noff = ["openai"]'
REMEDY = "This belongs to the plugin openai. It is switched off: nanobot plugins on openai"


async def test_a_client_is_told_how_to_switch_it_on_and_the_rest_is_served(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        async with openai.AsyncOpenAI(
            base_url=f"{served.url}/v1", api_key=TOKEN, max_retries=0
        ) as client:
            with pytest.raises(openai.NotFoundError) as refused:
                await client.chat.completions.create(
                    model="nanobot", messages=[{"role": "user", "content": "hello"}]
                )
        assert refused.value.body == {
            "code": "plugin_off",
            "message": REMEDY,
            "type": "invalid_request_error",
            "param": None,
        }
        owner = await served.owner()
        _, taken = await owner.post("/api/sessions/web:desk/messages", text="hello")
        assert taken["fresh"]
        _, described = await owner.get("/openapi.json")
        assert not [path for path in described["paths"] if path.startswith("/v1")]
        assert "OpenAIError" not in described["components"]["schemas"]
        chinese = {"Accept-Language": "zh"}
        _, refusal = await owner.ask("GET", "/v1/models", headers=chinese)
        assert "nanobot plugins on openai" in refusal["error"]["message"]
        assert "插件 openai" in refusal["error"]["message"]


async def test_a_path_that_it_does_not_have_is_not_found_while_it_is_on(tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        code, answer = await (await served.owner()).get("/v1/assistants")
    assert (code, answer["error"]["code"]) == (404, "not_found")
