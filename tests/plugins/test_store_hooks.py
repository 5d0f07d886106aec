"""A plugin of a package takes part in the transaction that records that a message has arrived."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.tables import PluginTables
from nanobot.session.views import OutboxView
from nanobot.testing.model import ScriptedProvider
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.store.empty import with_empty_store

BELLS = """
    import sqlalchemy as sa
    from nanobot.seam.plugin import Plugin


    class Bell:
        def arrives(self, connection, row):
            connection.execute(
                sa.text("INSERT INTO {name} (chat, words) VALUES (:chat, :words)"),
                {{"chat": str(row.message.address), "words": row.message.text}},
            )
            {then}


    PLUGIN = Plugin(
        name="{name}",
        summary="Rings.",
        migrations=("CREATE TABLE {name} (chat TEXT, words TEXT)",),
        store_hooks=Bell,
    )
"""


def _write(folder: Path, more: str) -> None:
    folder.mkdir()
    with_empty_store(folder)
    (folder / "config.toml").write_text(f"[web]\nport = 0\n[agent]\nremember = 'off'\n{more}")


@asynccontextmanager
async def serving(folder: Path, more: str = "") -> AsyncIterator[Parts]:
    _write(folder, more)
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(ScriptedProvider("First.", "Second.")))
    gateway = Gateway(load(environ), environ, channels=False, page=True, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def say(parts: Parts, text: str) -> None:
    headers = {"Authorization": f"Bearer {parts.http.access.own}"}
    async with (
        aiohttp.ClientSession(parts.http.url, headers=headers) as session,
        session.post("/api/sessions/web:desk/messages", json={"text": text}) as answer,
    ):
        assert answer.status < 300, await answer.text()


async def arrived(parts: Parts, count: int) -> list[OutboxView]:
    """The messages to people that have arrived, once there are so many."""
    async with asyncio.timeout(20):
        while True:
            rows = await parts.engine.records.outbox(state="sent", limit=10)
            if len(rows) >= count:
                return rows
            await asyncio.sleep(0.05)


async def test_a_hook_writes_with_the_receipt_and_one_that_fails_leaves_nothing_behind(
    site: Site, tmp_path: Path
) -> None:
    site.bring("bells", BELLS.format(name="bells", then="pass"))
    site.bring("cracked", BELLS.format(name="cracked", then="raise ZeroDivisionError('cracked')"))
    async with serving(tmp_path / "home") as parts:
        await say(parts, "Hello?")
        await arrived(parts, 1)
        await say(parts, "And now?")
        assert len(await arrived(parts, 2)) == 2
        tables: PluginTables = parts.plugged.offers.find(PluginTables)
        rung = [dict(row) for row in await tables.rows("SELECT chat, words FROM bells")]
        assert rung == [
            {"chat": "web:desk", "words": "First."},
            {"chat": "web:desk", "words": "Second."},
        ]
        assert await tables.rows("SELECT words FROM cracked") == []
        (cracked,) = [each for each in parts.plugged.views() if each.name == "cracked"]
        assert cracked.state == "failed"
        assert "store_hooks: ZeroDivisionError: cracked" in cracked.why


CRACKED = """
    from nanobot.seam.plugin import Plugin


    class Cracked:
        def {verb}(self, connection, *_):
            connection.exec_driver_sql("INSERT INTO cracked (words) VALUES ('half')")
            {then}

        {other}


    PLUGIN = Plugin(
        name="cracked",
        summary="Fails.",
        migrations=("CREATE TABLE cracked (words TEXT)",),
        store_hooks=Cracked,
    )
"""
FAILING = {
    "ends": "",
    "arrives": "",
    "posted": "def release(self, *_): raise ZeroDivisionError('cracked')",
}
THEN = ("raise ZeroDivisionError('cracked')", "connection.exec_driver_sql('SELECT * FROM nowhere')")


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("verb", FAILING)
async def test_no_message_waits_for_a_hook_that_fails(
    verb: str, then: str, site: Site, tmp_path: Path
) -> None:
    site.bring("cracked", CRACKED.format(verb=verb, other=FAILING[verb], then=then))
    # Only one plugin limits notifications.
    async with serving(tmp_path / "home", "[plugins]\noff = ['quiet']\n") as parts:
        await say(parts, "Hello?")
        await arrived(parts, 1)
        posted = OutboundMessage(
            address=Address("web", "desk"), text="News.", kind=OutboundKind.POST, key="news"
        )
        await parts.engine.bus.journal.post("web:desk", posted)
        parts.engine.bus.owed(posted.address)
        await arrived(parts, 2)
        tables: PluginTables = parts.plugged.offers.find(PluginTables)
        assert await tables.rows("SELECT words FROM cracked") == []
        (cracked,) = [each for each in parts.plugged.views() if each.name == "cracked"]
        assert cracked.state == "failed"


async def test_a_hook_without_a_known_function_is_named(site: Site, tmp_path: Path) -> None:
    code = BELLS.format(name="bells", then="pass").replace("def arrives", "def arrived")
    site.bring("bells", code)
    async with serving(tmp_path / "home") as parts:
        (bells,) = [each for each in parts.plugged.views() if each.name == "bells"]
        assert bells.state == "failed"
        assert "has no function `ends`, `arrives` or `erases`" in bells.why
