"""A gateway without the HTTP API says so to its clients, and serves everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.housing import house

OFF = '[plugins]\noff = ["http_api"]'
REMEDY = "This belongs to the plugin http_api. It is switched off: nanobot plugins on http_api"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/me"),
        ("POST", "/api/login"),
        ("GET", "/api/runs/list"),
        ("POST", "/api/sessions/web:desk/messages"),
        ("GET", "/api/events"),
        ("GET", "/ws"),
        ("GET", "/openapi.json"),
    ],
)
async def test_a_client_is_told_how_to_switch_it_on(method: str, path: str, tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        for client in (await served.owner(), await served.stranger()):
            code, answer = await client.ask(method, path)
            assert (code, answer["error"]) == (404, {"code": "plugin_off", "message": REMEDY})
        chinese = {"Accept-Language": "zh-CN"}
        _, answer = await client.ask(method, path, headers=chinese)
        assert "插件 http_api" in answer["error"]["message"]
        assert "nanobot plugins on http_api" in answer["error"]["message"]


async def test_the_page_says_what_it_needs(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        code, answer = await (await served.stranger()).get("/")
    assert (code, answer["error"]["code"]) == (404, "plugin_off")
    assert "nanobot plugins on http_api" in answer["error"]["message"]


async def test_everything_else_is_served_behind_the_same_guards(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner, stranger = await served.owner(), await served.stranger()
        await served.ready.wait()
        for path in ("/healthz", "/readyz"):
            assert (await stranger.get(path))[0] == 200, path
        assert (await stranger.get("/metrics"))[0] == 401
        async with owner.session.get(f"{served.url}/metrics", headers=owner.headers) as metrics:
            assert metrics.status == 200
            assert "nanobot_" in await metrics.text()
        assert (await stranger.get("/v1/models"))[0] == 401
        assert (await owner.get("/v1/models"))[0] == 200
        # Tokens are guards of every request: they are made, and revoked, all the same.
        laptop = await served.program("laptop", "owner")
        assert (await laptop.get("/v1/models"))[0] == 200
        await served.parts.operations.call("web tokens revoke", {"name": "laptop"})
        assert (await laptop.get("/v1/models"))[0] == 401
        _, answer = await stranger.post("/hooks/none")
        assert answer["error"]["code"] != "plugin_off"


async def test_a_path_of_nobody_is_not_found(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        code, answer = await (await served.owner()).get("/nothing")
    assert (code, answer["error"]["code"]) == (404, "not_found")
