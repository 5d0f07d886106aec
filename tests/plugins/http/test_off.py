"""A gateway without its HTTP server: chats that need none work, all others say what they lack, and
nothing is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from loguru import logger

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.app.roles import Roles
from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.messages import WEB
from nanobot.plugins.setup.doctor.checks import findings
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.http import Http
from nanobot.testing.model import ScriptedProvider
from tests.doubles.whatsapp_server import ANN, WhatsAppServer
from tests.plugins.switching import asked
from tests.store.empty import with_empty_store

OFF = '[plugins]\noff = ["http"]\n'
NO_MODEL = '[agent]\nmodel = "absent/one"\n[providers.absent]\napi_base = "http://127.0.0.1:9"\n'
"""Refuses at once, where doctor would otherwise start the embedded model to try it."""
REMEDY = "`nanobot plugins on http` switches it on"
NEEDS = "It needs the plugin http: nanobot plugins on http"


def configure(home: Path, settings: str) -> None:
    home.mkdir(exist_ok=True)
    with_empty_store(home)
    (home / "config.toml").write_text(f"{settings}\n[web]\nport = 0\n")


@asynccontextmanager
async def serving(
    home: Path, settings: str, *, roles: Roles | None = None
) -> AsyncIterator[tuple[Parts, list[str]]]:
    """A gateway with its channels and its page, and what it says: the lines of its log, and last
    the one that it is ready."""
    configure(home, settings)
    environ = {"NANOBOT_HOME": str(home)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, program=program, roles=roles or Roles())
    said, ready = list[str](), asyncio.Event()
    sink = logger.add(said.append, format="{message}", level="WARNING")

    def is_ready(line: str) -> None:
        said.append(line)
        ready.set()

    try:
        async with gateway.serving("a test", is_ready) as parts, asyncio.timeout(20):
            await ready.wait()
            yield parts, said
    finally:
        logger.remove(sink)


def whatsapp(meta: WhatsAppServer) -> str:
    keys = "\n".join(f'{key} = "{value}"' for key, value in meta.settings.items())
    return f'[channels.whatsapp]\nowners = ["{ANN}"]\n{keys}\n'


async def waiting(parts: Parts) -> list[tuple[str, str]]:
    """The messages that have not been sent."""
    rows = await parts.operations.call("outbox list", {"state": "pending"})
    return [(row.address, row.text) for row in rows]


async def test_it_answers_and_listens_nowhere(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as (parts, said):
        assert said[-1].split()[2] == "web=off"
        assert await asked(parts, "hello") == "completed"
        status = await parts.operations.call("status", {})
        assert status.web == ""
        reached = [row.reaches for row in await parts.operations.call("security audit", {})]
        assert not [each for each in reached if each.startswith("HTTP")]
    async with serving(tmp_path / "home", "") as (parts, said):
        assert said[-1].split()[2] == f"web={parts.http.url}"
        reached = [row.reaches for row in await parts.operations.call("security audit", {})]
        assert "HTTP: this machine alone" in reached


async def test_what_asks_for_it_names_the_plugin(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as (parts, _):
        rows = {each.name: each for each in await parts.operations.call("plugins list", {})}
        assert rows["http"].why == "It is switched off: nanobot plugins on http"
        for name in ("http_api", "openai", "web_access", "hooks"):
            assert (rows[name].state, rows[name].why) == ("off", NEEDS), name
        assert rows["page"].why == "It needs the plugin http_api, which is not on."
        for name in ("mcp", "proof", "metrics", "jobs"):
            assert rows[name].state == "on", name
        for name in ("web link", "web tokens list", "hooks list"):
            with pytest.raises(UsageError, match="which is off here"):
                await parts.operations.call(name, {})


async def test_a_hook_in_the_configuration_is_named_at_the_start(tmp_path: Path) -> None:
    hook = '[hooks.ci]\nsecret = "It is long enough."\nprompt = "{n}"\n'
    async with serving(tmp_path / "home", OFF + hook) as (_, said):
        (line,) = [each for each in said if "hooks.ci" in each]
        assert line.strip() == f"hooks.ci does nothing without the plugin hooks. {NEEDS}"


async def test_a_channel_whose_platform_sends_requests_says_that_none_arrives(
    tmp_path: Path,
) -> None:
    public = '[web]\nport = 0\npublic_url = "https://bot.example.org"\n'
    async with WhatsAppServer() as meta:
        for off in (OFF, ""):
            lacks = Http.lacks if off else ""
            settings = NO_MODEL + off + whatsapp(meta)
            home = tmp_path / ("off" if off else "on")
            async with serving(home, settings) as (parts, said):
                assert "whatsapp:up" in said[-1]
                warned = [each.strip() for each in said if each.startswith("whatsapp: ")]
                assert warned == ([f"whatsapp: {lacks}"] if off else [])
                (row,) = await parts.operations.call("channels list", {})
                assert row.lacks == lacks
            (home / "config.toml").write_text(settings + public)
            found = [each.text for each in await findings({"NANOBOT_HOME": str(home)})]
            assert (Http.lacks in found) is bool(off)
    assert REMEDY in Http.lacks


async def test_an_answer_for_the_page_waits_until_it_is_on_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as (parts, _):
        words = {"chat": f"{WEB}:desk", "text": "for later"}
        await parts.operations.call("notify", words)
        assert await waiting(parts) == [(f"{WEB}:desk", "for later")]
    async with serving(home, "") as (parts, _):
        for _ in range(200):
            if not await waiting(parts):
                break
            await asyncio.sleep(0.02)
        assert await waiting(parts) == []


async def test_tokens_count_again_when_it_is_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, "") as (parts, _):
        laptop = await parts.operations.call("web tokens add", {"name": "laptop"})
    async with serving(home, OFF):
        pass
    async with serving(home, "") as (parts, _), aiohttp.ClientSession(parts.http.url) as session:
        headers = {"Authorization": f"Bearer {laptop.token}"}
        async with session.get("/api/me", headers=headers) as answer:
            assert (answer.status, json.loads(await answer.text())["name"]) == (200, "laptop")


async def test_a_process_that_is_there_for_it_alone_says_that_it_does_nothing(
    tmp_path: Path,
) -> None:
    alone = Roles(channels=False, worker=False)
    async with serving(tmp_path / "home", OFF, roles=alone) as (_, said):
        assert Http.lacks in [each.strip() for each in said]
