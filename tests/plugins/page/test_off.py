"""A gateway without its page says so to browsers, and serves programs all the same."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from nanobot.errors import UsageError
from tests.server.housing import House, house

OFF = '[plugins]\noff = ["page"]'
REMEDY = "This belongs to the plugin page. It is switched off: nanobot plugins on page"


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/sw.js", "/manifest.webmanifest", "/page/0123/app.js", "/api/push"]
)
async def test_a_browser_is_told_how_to_switch_it_on(path: str, tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        stranger = await served.stranger()
        code, answer = await stranger.get(path)
        assert (code, answer["error"]) == (404, {"code": "plugin_off", "message": REMEDY})
        browser = {"Accept-Language": "zh-CN,zh;q=0.9"}
        _, answer = await stranger.ask("GET", path, headers=browser)
        assert "插件 page" in answer["error"]["message"]
        assert "nanobot plugins on page" in answer["error"]["message"]


async def test_programs_are_served_all_the_same(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        _, taken = await owner.post("/api/sessions/web:desk/messages", text="hello")
        assert taken["fresh"]
        assert await _answers(served) == "echo: hello"
        await served.ready.wait()
        for path, found in (("/healthz", 200), ("/readyz", 200), ("/v1/models", 200)):
            assert (await owner.get(path))[0] == found, path
        _, me = await owner.get("/api/me")
        assert (me["page"], me["views"]) == ("", [])
        assert "web link" not in me["operations"]
        _, described = await owner.get("/openapi.json")
        assert [path for path in described["paths"] if "push" in path] == []
        async with owner.session.get(f"{served.url}/metrics", headers=owner.headers) as metrics:
            assert metrics.status == 200
        assert (await owner.get("/plugins/evals/views/main.js"))[0] == 404


async def _answers(served: House) -> str:
    """The answer over the WebSocket."""
    owner = await served.owner()
    async with owner.session.ws_connect(f"{served.url}/ws", headers=owner.headers) as socket:
        await socket.send_json({"op": "follow", "session": "web:desk", "key": "1"})
        async for message in socket:
            assert message.type is aiohttp.WSMsgType.TEXT
            text = message.json()
            entries = text.get("snapshot", {}).get("entries", ())
            replies = [each for each in entries if each["kind"] == "reply"]
            if replies:
                return str(replies[0]["body"]["text"])
            if text.get("type") == "event" and text["event"]["kind"] == "end":
                return str(text["event"]["payload"]["text"])
    raise AssertionError("it was closed")


async def test_a_link_to_it_is_refused_by_the_name_of_the_plugin(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        with pytest.raises(UsageError, match="web link belongs to the plugin page, which is off"):
            await served.parts.operations.call("web link", {})
