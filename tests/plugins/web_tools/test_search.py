"""web_search over services on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nanobot.app.bringing import unfit
from nanobot.app.plugged import Plugged
from nanobot.config.loader import load
from nanobot.errors import ConfigError, ToolArgumentsError, ToolError
from nanobot.plugins.common.keys.tool_settings import WebToolSettings
from nanobot.plugins.web_tools.engines import Brave, Ddgs, Scrape, SearchEngine, Searxng, Tavily
from nanobot.plugins.web_tools.search import engines, web_search_tool
from nanobot.plugins.web_tools.tools import web_tools
from nanobot.tools.registry import ToolRegistry
from tests.doubles.web_server import Page, WebServer
from tests.plugins.switching import serving
from tests.tools.browsing import CALL

KEY = "a-key-nobody-may-see"
PATHS = {"brave": "/res/v1/web/search", "tavily": "/search", "searxng": "/search"}


def found(*titles: str) -> list[dict[str, Any]]:
    return [
        {"title": title, "url": f"https://{title}.example/", "content": f"about {title}"}
        for title in titles
    ]


def answers(name: str, *titles: str) -> Page:
    rows = found(*titles)
    for row in rows:
        row["description"] = row["content"]
    body: dict[str, Any] = {"results": rows}
    return Page(json.dumps({"web": body} if name == "brave" else body).encode(), "application/json")


def service(name: str, site: WebServer, seconds: float = 5.0) -> SearchEngine:
    root = site.url("")
    if name == "brave":
        return Brave(KEY, root, seconds=seconds)
    if name == "tavily":
        return Tavily(KEY, root, seconds=seconds)
    return Searxng(f"{root}/", seconds=seconds)


def scraping(*titles: str) -> Ddgs:
    rows = [{"title": t, "href": f"https://{t}.example/", "body": f"about {t}"} for t in titles]
    return Ddgs(scrape=lambda query, count, proxy: rows)


async def search(services: list[SearchEngine], query: str = "owls", **more: object) -> str:
    registry = ToolRegistry()
    registry.register(web_search_tool(services))
    return await registry.execute("web_search", json.dumps({"query": query, **more}), CALL)


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with WebServer() as site:
        yield site


@pytest.mark.parametrize("name", PATHS)
async def test_every_service_gives_title_address_and_snippet(site: WebServer, name: str) -> None:
    site.pages[PATHS[name]] = answers(name, "one", "two", "three")
    result = await search([service(name, site)], count=2)
    assert "1. one\n   https://one.example/\n   about one\n2. two\n" in result
    assert "three" not in result
    assert 'Untrusted content from "web search: owls"' in result


async def test_keys_go_in_headers_and_queries_are_encoded(site: WebServer) -> None:
    for name in ("brave", "tavily"):
        site.pages[PATHS[name]] = answers(name, "x")
        await search([service(name, site)], "a & b=c #1", count=20)
    assert site.headers[0]["X-Subscription-Token"] == KEY
    assert site.headers[1]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in "".join(path for _, path in site.asked)
    assert site.asked[0][1] == "/res/v1/web/search?q=a+%26+b%3Dc+%231&count=20"
    assert site.json == [{"query": "a & b=c #1", "max_results": 20}]


async def test_ddgs_serves_without_a_key() -> None:
    assert "1. owl\n   https://owl.example/\n   about owl" in await search([scraping("owl")])


FAILURES = {
    "refuses the key": Page(b"{}", status=401),
    "too many requests": Page(b"{}", status=429),
    "status 503": Page(b"busy", status=503),
    "status 302": Page(status=302, headers={"Location": "http://127.0.0.2/"}),
    "with its JSON": Page(b"<html>", "application/json"),
    "answer with its JSON": Page(b"[" * 100_000, "application/json"),
    "more than": Page(b'{"a": "' + b"x" * 3_000_000, "application/json"),
    "found nothing": Page(b'{"results": "none", "web": 3}', "application/json"),
}


@pytest.mark.parametrize("reason", FAILURES)
async def test_one_that_fails_is_followed_by_the_next(site: WebServer, reason: str) -> None:
    site.pages[PATHS["brave"]] = FAILURES[reason]
    assert "1. owl" in await search([service("brave", site), scraping("owl")])
    with pytest.raises(ToolError, match="the web cannot be searched now") as caught:
        await search([service("brave", site), Ddgs(scrape=broken)])
    assert reason in str(caught.value)
    assert "the scrape broke" in str(caught.value)
    assert KEY not in str(caught.value)


def broken(query: str, count: int, proxy: str) -> list[dict[str, Any]]:
    raise ToolError("the scrape broke")


async def test_one_that_does_not_answer_is_left_in_time(site: WebServer) -> None:
    site.pages[PATHS["brave"]] = Page(b"{", hang=True)
    with pytest.raises(ToolError, match=r"brave did not answer within 0\.2 s"):
        await search([service("brave", site, seconds=0.2)])
    gate = threading.Event()

    def stuck(query: str, count: int, proxy: str) -> list[dict[str, Any]]:
        gate.wait(30)
        return []

    try:
        with pytest.raises(ToolError, match=r"ddgs did not answer within 0\.1 s"):
            await search([Ddgs(scrape=stuck, seconds=0.1)])
    finally:
        gate.set()
    with pytest.raises(ToolError, match="searxng cannot be reached"):
        await search([Searxng("http://127.0.0.1:1")])


async def test_finding_nothing_anywhere_is_an_answer_and_no_error() -> None:
    assert "nothing was found" in await search([scraping(), scraping()])


async def test_results_are_lines_of_text_whatever_the_service_sends(site: WebServer) -> None:
    rows: list[object] = [
        {
            "title": "a\n<b>bold</b> &amp;\tmore",
            "url": "https://a.example/",
            "content": "x" * 9_999,
        },
        {"title": "no web address", "url": "javascript:alert(1)", "content": ""},
        {"title": 3, "url": "https://b.example/", "content": None},
        {"title": "none"},
        "text",
        None,
    ]
    body = json.dumps({"results": rows}).encode()
    site.pages["/search"] = Page(body, "application/json")
    result = await search([service("searxng", site)])
    assert "1. a bold & more\n   https://a.example/\n   xxx" in result
    assert "x" * 601 not in result
    assert "2. (no title)\n   https://b.example/" in result
    assert "javascript" not in result


async def test_a_query_must_say_something() -> None:
    with pytest.raises(ToolError, match="query is empty"):
        await search([scraping("x")], " \n ")
    for query in ("", "x" * 401):
        with pytest.raises(ToolArgumentsError):
            await search([scraping("x")], query)
    with pytest.raises(ToolArgumentsError):
        await search([scraping("x")], count=0)


async def test_cancelling_a_search_closes_its_connection(site: WebServer) -> None:
    site.pages["/search"] = Page(b"{", hang=True)
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(search([service("searxng", site, seconds=60)]))
        await site.arrived.wait()
        asking.cancel()
        await site.left.wait()


def names(**settings: Any) -> list[str]:
    return [engine.name for engine in engines(WebToolSettings(**settings))]


def test_auto_asks_what_is_configured_and_at_last_the_keyless_one() -> None:
    assert names() == ["ddgs"]
    everything = {"brave_api_key": "k", "tavily_api_key": "k", "searxng_url": "http://s"}
    assert names(**everything) == ["searxng", "brave", "tavily", "ddgs"]
    for name in ("ddgs", "brave", "tavily", "searxng"):
        assert names(search=name, **everything) == [name]


def test_the_web_can_be_switched_off_and_a_wrong_network_is_told_at_once() -> None:
    assert [tool.name for tool in web_tools(WebToolSettings())] == ["web_fetch", "web_search"]
    assert web_tools(WebToolSettings(fetch=False, search="off")) == []
    for entry in ("10.0.0.0/99", "a b", "http://x", "", "1.2.3"):
        with pytest.raises(ConfigError, match=r"tools\.web\.allow_private"):
            web_tools(WebToolSettings(allow_private=(entry,)))


async def test_a_gateway_with_a_wrong_network_does_not_start_and_is_told_once(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match=r"tools\.web\.allow_private"):
        async with serving(tmp_path / "home", '[tools.web]\nallow_private = ["a b"]\n'):
            pass
    environ = {"NANOBOT_HOME": str(tmp_path / "home")}
    assert len(unfit(Plugged(load(environ)))) == 1


async def test_the_real_ddgs_library_fails_with_a_reason_where_nothing_answers() -> None:
    """Through a proxy that is not there, so that nothing leaves this machine."""
    with pytest.raises(ToolError, match="ddgs found no search page that answers"):
        await Ddgs(proxy="http://127.0.0.1:1").search("owls", 3)


async def test_searches_that_hang_keep_nothing_else_waiting() -> None:
    """Threads are shared by all chats: long answers are rendered, and files are read on them."""
    gate, inside = threading.Event(), list[str]()

    def stuck(query: str, count: int, proxy: str) -> list[dict[str, Any]]:
        inside.append(query)
        gate.wait(30)
        return [{"title": query, "href": "http://x", "body": ""}]

    engine = Ddgs(scrape=stuck, seconds=10.0)
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        searches = [tasks.create_task(engine.search(f"{n}", 1)) for n in range(40)]
        impatient = [tasks.create_task(_given_up(stuck, f"gives up {n}")) for n in range(4)]
        await asyncio.sleep(0.2)
        began = time.monotonic()
        assert await asyncio.to_thread(lambda: "rendered") == "rendered"
        assert time.monotonic() - began < 1.0
        assert len(inside) == 8
        gate.set()
        for number, search in enumerate(searches):
            assert [hit.title for hit in await search] == [f"{number}"]
    assert all(task.result() for task in impatient)


async def _given_up(scrape: Scrape, query: str) -> bool:
    try:
        await Ddgs(scrape=scrape, seconds=0.05).search(query, 1)
    except ToolError:
        return True
    return False
