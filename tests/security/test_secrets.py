"""Ways to make nanobot tell what only its owner may know."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from loguru import logger

from nanobot.config import loader as config
from nanobot.errors import ConfigError, NanobotError, ToolError
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.keys.tool_settings import WebToolSettings
from nanobot.plugins.web_tools.engines import Brave, SearchEngine, Tavily
from nanobot.plugins.web_tools.search import web_search_tool
from nanobot.tools.registry import ToolRegistry
from tests.doubles.web_server import Page, WebServer
from tests.security.attacking import ACTS, SECRET, Home
from tests.tools.browsing import CALL, Browser

KEPT = ("config.toml", "state.db", "state.db-wal", "logs/nanobot.log", "keys/token", ".env")


@pytest.mark.parametrize("act", ["read", "edit", "list", "search"])
@pytest.mark.parametrize("name", KEPT)
async def test_a_home_that_lies_within_the_workspace_stays_hidden(
    tmp_path: Path, name: str, act: str
) -> None:
    """An owner who makes all of a project the workspace, with the home in it."""
    workspace = tmp_path / "project"
    kept = workspace / ".nanobot" / name
    kept.parent.mkdir(parents=True)
    kept.write_text(SECRET)
    (tmp_path / "elsewhere").mkdir()
    home = Home(tmp_path / "elsewhere")
    home.use(ConfinedFiles(workspace, hidden=[workspace / ".nanobot"]))
    for path in (f".nanobot/{name}", ".nanobot", f"x/../.nanobot/./{name}"):
        with pytest.raises(ToolError) as caught:
            await home.call(ACTS[act][0], path=path, **ACTS[act][1])
        assert SECRET not in str(caught.value)
    assert SECRET not in await home.call("search_files", pattern="sk-")
    assert ".nanobot/" not in await home.call("list_dir", path=".", glob="**/*")


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/proc/1/environ", "/proc/self/maps", "/proc/cpuinfo"]
)
async def test_not_even_a_reach_over_everything_shows_this_process(
    tmp_path: Path, path: str
) -> None:
    home = Home(tmp_path)
    home.use(ConfinedFiles(home.workspace, hidden=[tmp_path], everywhere=True))
    for act in ("read", "search"):
        await home.refused(act, path)


async def test_a_reach_over_everything_still_leaves_the_home_out(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "other").write_text("sk-of somebody else")
    home = Home(tmp_path / "home")
    home.use(ConfinedFiles(home.workspace, hidden=[home.folder], everywhere=True))
    for act in ACTS:
        await home.refused(act, str(home.config))
    text = await home.call("search_files", pattern="sk-", path=str(tmp_path))
    assert text == f"{tmp_path}/other:1: sk-of somebody else"


@pytest.mark.parametrize(
    "text",
    [
        f'[tools.web]\nbrave_api_key = "{SECRET}"\nsearch = "brave"\nproxy = "nonsense"',
        f'[tools.web]\ntavily_api_key = ["{SECRET}"]',
        f'[providers.openai]\napi_key = {{ x = "{SECRET}" }}',
        f'[providers.openai]\napi_key = "{SECRET}',
        f'[tools.web]\nproxy = "socks://user:{SECRET}@host"',
    ],
)
def test_a_mistake_in_the_configuration_is_told_without_the_secret(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load({"NANOBOT_HOME": str(tmp_path)})
    assert SECRET not in str(caught.value)


def test_no_settings_show_a_key_when_they_are_printed() -> None:
    shown = repr(
        WebToolSettings(
            brave_api_key=SECRET, tavily_api_key=SECRET, proxy=f"http://user:{SECRET}@host:1"
        )
    )
    assert SECRET not in shown
    assert "***" in shown


SERVICES = ("brave", "tavily")
ANSWERS = {
    "an error that repeats the key": Page(json.dumps({"error": SECRET}).encode(), status=401),
    "a page of errors": Page(SECRET.encode(), status=500),
    "a redirect to elsewhere": Page(status=307, headers={"Location": "http://127.0.0.2/"}),
    "no JSON": Page(SECRET.encode()),
    "a broken connection": Page(b"{", headers={"Content-Length": "100"}),
}


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_search_that_fails_tells_no_key_and_sends_it_nowhere_else(
    site: WebServer, name: str, answer: str
) -> None:
    path = {"brave": "/res/v1/web/search", "tavily": "/search"}[name]
    site.pages[path] = ANSWERS[answer]
    engine: SearchEngine = (Brave if name == "brave" else Tavily)(SECRET, site.url(""), seconds=0.5)
    registry = ToolRegistry()
    registry.register(web_search_tool([engine]))
    log = io.StringIO()
    sink = logger.add(log, level="TRACE", diagnose=True)
    try:
        with pytest.raises(NanobotError) as caught:
            await registry.execute("web_search", '{"query": "owls"}', CALL)
    finally:
        logger.remove(sink)
    assert SECRET not in str(caught.value) + log.getvalue()
    assert "web search" in log.getvalue()


async def test_fetching_sends_nothing_that_is_ours(
    site: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    site.page("/", b"x", "text/plain")
    await Browser(site).fetch(site.url("/"))
    sent = site.headers[0]
    assert set(sent) == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"}
    assert SECRET not in str(sent)


async def test_no_password_of_this_machines_user_is_sent(
    site: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    site.page("/", b"x", "text/plain")
    await Browser(site).fetch(site.url("/"))
    assert "Authorization" not in site.headers[0]


@pytest.mark.parametrize("header", ["Set-Cookie", "WWW-Authenticate", "Refresh", "Location"])
async def test_what_one_site_sets_no_other_request_carries(site: WebServer, header: str) -> None:
    value = {"Set-Cookie": "id=1", "WWW-Authenticate": "Basic realm=x"}.get(header, "/other")
    site.pages["/"] = Page(b"x", "text/plain", headers={header: value})
    browser = Browser(site)
    await browser.fetch(site.url("/"))
    await browser.fetch(site.url("/"))
    assert site.headers[0] == site.headers[1]
    assert len(site.asked) == 2
