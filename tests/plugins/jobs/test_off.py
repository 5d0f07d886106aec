"""A gateway without the plugin that does jobs answers people, keeps its jobs, and says what is
missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from loguru import logger

from nanobot.app.bringing import unused
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import Config, load
from nanobot.errors import UsageError
from nanobot.messages import Origin
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.views.plugins import views_of as plugin_views
from nanobot.plugins.jobs.plans import plan_of
from nanobot.plugins.setup.doctor.plugins import plugins
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.store.empty import with_empty_store
from tests.stored import log_of

OFF = '[plugins]\noff = ["jobs"]\n[heartbeat]\nenabled = true\n[web]\nport = 0\n'
WHY = "It needs the plugin jobs: nanobot plugins on jobs"
PLAN = plan_of("backup", "web:desk", Origin.EVENT, "UTC")
BELL = """
    import asyncio
    from nanobot.seam.plugin import Plugin


    class Bell:
        async def run(self, publisher):
            await publisher.publish("It rang.", key="1")
            await asyncio.Event().wait()


    PLUGIN = {what}
"""


class Home:
    """A folder whose gateway can be opened and closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        with_empty_store(folder)

    def gateway(self, settings: str = "[web]\nport = 0\n") -> Gateway:
        (self._folder / "config.toml").write_text(f"{settings}[agent]\nremember = 'off'\n")
        environ = {"NANOBOT_HOME": str(self._folder)}
        program = Program(provider=OneProvider(ScriptedProvider()))
        return Gateway(load(environ), environ, channels=False, page=True, program=program)

    def config(self) -> Config:
        return load({"NANOBOT_HOME": str(self._folder)})

    @asynccontextmanager
    async def serving(self, settings: str = "[web]\nport = 0\n") -> AsyncIterator[Parts]:
        gateway = self.gateway(settings)
        async with gateway.serving("a test", lambda _line: None) as parts:
            yield parts


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


async def said(parts: Parts, kind: str, session: str) -> list[str]:
    """What of a kind is in a session's log, once there is something."""
    async with asyncio.timeout(30):
        while True:
            entries = await log_of(parts.engine.records).entries(session, after=0, limit=100)
            texts = [each.body["text"] for each in entries if each.body and each.kind == kind]
            if texts:
                return texts
            await asyncio.sleep(0.05)


async def test_what_was_published_is_answered_once_where_the_plugin_is_off_meanwhile(
    home: Home,
) -> None:
    async with operations_at_rest(home.gateway(), "a test") as operations:
        jobs = operations.of(JobService)  # type: ignore[type-abstract]
        assert await jobs.publisher(PLAN).publish("The disk is full.", key="1") == "taken"
    async with home.serving(OFF) as parts:
        assert not parts.plugged.offers.has(JobService)
        assert await said(parts, "reply", "backup") == ["echo: The disk is full."]
        await asyncio.sleep(0.5)
        assert await log_of(parts.engine.records).entries("web:desk", after=0, limit=9) == ()
    async with home.serving() as parts:
        assert await said(parts, "post", "web:desk") == ["echo: The disk is full."]
        jobs = parts.plugged.offers.get(JobService)  # type: ignore[type-abstract]
        assert await jobs.publisher(PLAN).publish("The disk is full.", key="1") == "known"
    async with home.serving() as parts:
        assert await said(parts, "post", "web:desk") == ["echo: The disk is full."]


async def test_what_needs_it_names_it_and_how_it_is_switched_on(home: Home) -> None:
    async with home.serving(f'{OFF}[hooks.door]\nsecret = "{"s" * 32}"\n') as parts:
        views = {each.name: each for each in plugin_views(parts.plugged)}
        assert views["jobs"].why == "It is switched off: nanobot plugins on jobs"
        for name in ("cron", "heartbeat", "hooks", "quiet"):
            assert (views[name].state, views[name].why) == ("off", WHY)
        with pytest.raises(UsageError, match="belongs to the plugin cron, which is off here"):
            await parts.operations.call("cron list", {})
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{parts.http.url}/hooks/door", data=b"{}") as answer,
        ):
            assert answer.status == 404
            assert f"This belongs to the plugin hooks. {WHY}" in await answer.text()
    (useless,) = unused(home.config())
    assert useless.text == f"hooks.door does nothing without the plugin hooks. {WHY}"


async def test_triggers_of_packages_are_named_and_the_gateway_serves(
    home: Home, site: Site
) -> None:
    plugin = 'Plugin(name="bells", summary="Rings.", triggers=lambda: {"bell": Bell()})'
    site.bring("bells", BELL.format(what=plugin))
    site.bring("bell", BELL.format(what="lambda name, keys: Bell()"), group="nanobot.triggers")
    off = "It is switched off: nanobot plugins on jobs"
    alone = f"triggers.door does nothing without the plugin jobs. {off}"
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), format="{message}")
    try:
        async with home.serving(f'{OFF}[triggers.door]\ntype = "bell"\n') as parts:
            (bells,) = [each for each in plugin_views(parts.plugged) if each.name == "bells"]
            assert bells.state == "failed"
            need = "the plugin jobs, which is not on here: `nanobot plugins on jobs` switches it on"
            assert bells.why == f"triggers: its triggers need {need}"
            assert alone in "".join(lines)
        findings = [each async for each in plugins(home.config())]
        assert [each.text for each in findings if "triggers.door" in each.text] == [alone]
        async with home.serving('[web]\nport = 0\n[triggers.door]\ntype = "bell"\n') as parts:
            assert await said(parts, "reply", "trigger:bell") == ["echo: It rang."]
            assert await said(parts, "reply", "trigger:door") == ["echo: It rang."]
    finally:
        logger.remove(sink)
