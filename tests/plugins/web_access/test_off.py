"""A gateway without named access: its own token opens it, no other does, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.common.http.access import Access
from tests.server.housing import Client, house

OFF = '[plugins]\noff = ["web_access"]'
REMEDY = "nanobot plugins on web_access"


async def test_what_asks_for_it_names_it(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner, stranger = await served.owner(), await served.stranger()
        for name, arguments in (
            ("web tokens list", {}),
            ("web tokens add", {"name": "laptop"}),
            ("web tokens revoke", {"name": "laptop"}),
        ):
            with pytest.raises(UsageError, match=r"plugin web_access, which is off here"):
                await served.parts.operations.call(name, arguments)
        for client in (owner, stranger):
            for path in ("/api/login", "/api/logout"):
                code, answer = await client.post(path, secret="x" * 40)
                assert (code, answer["error"]["code"]) == (404, "plugin_off")
                assert REMEDY in answer["error"]["message"]
        code, answer = await stranger.get("/")
        assert (code, answer["error"]["code"]) == (404, "plugin_off")
        assert "web_access" in answer["error"]["message"]
        _, document = await owner.get("/openapi.json")
        assert "/api/me" in document["paths"]
        assert "/api/login" not in document["paths"]
        with pytest.raises(UsageError, match="the page is not served"):
            served.parts.plugged.offers.get(Access).link()


async def test_only_the_own_token_opens_it_and_the_others_do_again_later(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with house(home) as served:
        laptop = await served.program("laptop", "owner")
        browser = await served.browser()
        shown, cookies = laptop.headers, browser.cookie()
        assert [await _code(each) for each in (laptop, browser)] == [200, 200]
        name = served.parts.plugged.offers.get(Access).cookie

    async def asked(by: str = OFF) -> list[int]:
        async with house(home, web=by) as served:
            owner, stranger = await served.owner(), await served.stranger()
            assert await _code(owner) == 200
            codes = []
            for headers in (shown, {"Cookie": f"{name}={cookies}"}):
                code, _ = await stranger.ask("GET", "/api/me", headers=headers)
                codes.append(code)
            return codes

    assert await asked() == [401, 401]
    assert await asked("") == [200, 200]


async def _code(client: Client) -> int:
    code, _ = await client.get("/api/me")
    return code
