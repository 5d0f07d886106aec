"""The gateway below a path of a reverse proxy, and what it is called in public."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanobot.config.loader import load
from nanobot.errors import ConfigError
from tests.server.housing import Client, house
from tests.server.proxying import Proxy

PREFIX = "/assistant"
TRUSTED = 'trusted_proxies = ["127.0.0.1"]'
BASE = f'base_path = "{PREFIX}"'

WAYS = {
    "the proxy leaves the prefix in the path": (BASE, False, False),
    "the proxy removes the prefix and says so": (TRUSTED, True, True),
    "the proxy removes the prefix, which is configured": (f"{BASE}\n{TRUSTED}", True, False),
}


@pytest.mark.parametrize("way", WAYS)
async def test_everything_works_below_the_path_of_a_proxy(way: str, tmp_path: Path) -> None:
    web, strips, tells = WAYS[way]
    async with house(tmp_path / "home", web=web) as served:
        proxy = Proxy(served.url, PREFIX, strips=strips, tells=tells)
        async with proxy.serving():
            client = await served.stranger()
            client.url = proxy.url
            await _logs_in(client, (await served.parts.operations.call("web link", {})).url)
            await _asks(client)
            owner = await served.owner()
            owner.url = proxy.url
            assert (await owner.get("/v1/models"))[1]["data"][0]["id"] == "nanobot"
            status, body = await owner.get("/v1/nothing")
            assert (status, body["error"]["type"]) == (404, "invalid_request_error")
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
            accept = {"Accept": "application/json, text/event-stream"}
            async with owner.session.post(
                f"{proxy.url}/mcp", json=asked, headers={**owner.headers, **accept}
            ) as answer:
                assert answer.status == 200, await answer.text()
            async with client.session.get(proxy.url.removesuffix(PREFIX)) as elsewhere:
                assert await elsewhere.text() == "another program is served here"


async def _logs_in(client: Client, link: str) -> None:
    async with client.session.post(
        f"{client.url}/api/login", json={"secret": link.partition("#login=")[2]}
    ) as answer:
        assert answer.status == 200
        assert f"Path={PREFIX};" in answer.headers["Set-Cookie"]


async def _asks(client: Client) -> None:
    """The page with a file that it names, an operation, the OpenAPI document and the socket."""
    async with client.session.get(f"{client.url}/") as answer:
        page = await answer.text()
    assert f'src="{PREFIX}/page/' in page
    name = page.partition(f'src="{PREFIX}')[2].partition('"')[0]
    async with client.session.get(client.url + name) as answer:
        assert answer.content_type == "text/javascript"
    status, me = await client.get("/api/me")
    assert (status, me["role"]) == (200, "owner")
    assert (await client.get("/openapi.json"))[1]["servers"] == [{"url": PREFIX}]
    origin = {"Origin": client.url.removesuffix(PREFIX)}
    async with client.session.ws_connect(f"{client.url}/ws", headers=origin) as socket:
        await socket.send_json({"op": "call", "name": "status", "key": "1"})
        assert (await socket.receive_json(timeout=10))["result"]


async def test_the_path_without_a_slash_leads_to_the_page(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=BASE) as served:
        client = await served.stranger()
        async with client.session.get(f"{served.url}{PREFIX}", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (308, f"{PREFIX}/")


async def test_without_the_proxy_it_answers_at_its_root(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=f"{BASE}\n{TRUSTED}") as served:
        owner = await served.owner()
        assert (await owner.get("/api/me"))[0] == 200
        assert (await owner.get(f"{PREFIX}/api/me"))[0] == 200
        assert (await owner.get(f"{PREFIX}x/api/me"))[0] == 404


FORGED = ["//evil.test", "https://evil.test", "/a/../b", '/"><script>', "/a b", "/" + "x" * 65]


@pytest.mark.process
async def test_only_a_trusted_proxy_may_tell_a_prefix(tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        assert await _prefix(await served.stranger(), PREFIX) == ("page/", "/")
    async with house(tmp_path / "other", web=TRUSTED) as served:
        client = await served.stranger()
        assert await _prefix(client, PREFIX) == (f"{PREFIX}/page/", PREFIX)
        for told in FORGED:
            assert await _prefix(client, told) == ("page/", "/"), told


async def _prefix(client: Client, told: str) -> tuple[str, Any]:
    """Where the page has its files for who sends that header, and where the API is."""
    headers = {"X-Forwarded-Prefix": told}
    async with client.session.get(f"{client.url}/", headers=headers) as answer:
        files = (await answer.text()).partition('script src="')[2]
    _, document = await client.ask("GET", "/openapi.json", headers=headers)
    return files[: files.index("page/") + 5], document["servers"][0]["url"]


PUBLIC = 'public_url = "https://bot.example.org/assistant/"'


async def test_the_login_link_has_the_public_address(tmp_path: Path) -> None:
    hook = '[hooks.build]\nsecret = "a secret of eight"\nprompt = "x"'
    async with house(tmp_path / "home", web=f"{PUBLIC}\n{hook}") as served:
        link = await served.parts.operations.call("web link", {})
        assert link.url.startswith("https://bot.example.org/assistant/#login=")
        owner = await served.owner()
        headers = {"Host": "bot.example.org", "Origin": "https://bot.example.org"}
        assert (await owner.ask("GET", "/assistant/api/me", headers=headers))[0] == 200
        assert (await owner.ask("GET", "/api/me", headers={"Host": "other.example.org"}))[0] == 403
        (hooks,) = (await owner.get("/api/hooks/list"))[1]
        assert hooks["url"] == "https://bot.example.org/assistant/hooks/build"


@pytest.mark.parametrize(
    "line",
    [
        'public_url = "bot.example.org"',
        'public_url = "https://"',
        'public_url = "https://me:secret@bot.example.org"',
        'public_url = "https://bot.example.org/?a=1"',
        'public_url = "https://bot.example.org:x/"',
        'base_path = "assistant"',
        'base_path = "/assistant/"',
        'base_path = "//evil.test"',
    ],
)
def test_an_address_that_cannot_be_stops_the_start(line: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f"[web]\n{line}\n")
    with pytest.raises(ConfigError, match=r"web\.(public_url|base_path)"):
        load({"NANOBOT_HOME": str(tmp_path)})
