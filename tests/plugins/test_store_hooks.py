"""Plugins of packages take part in transactions of the store, over each database: where runs end,
messages arrive and conversations are removed. One that fails costs nobody else anything."""

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
from nanobot.errors import StoreError
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.erasing import Eraser
from nanobot.plugins.common.http.access import Access
from nanobot.plugins.common.views.outbox import OutboxView
from nanobot.plugins.common.views.plugins import views_of as plugin_views
from nanobot.plugins.erasure.store import eraser
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.tables import PluginTables
from nanobot.testing.model import ScriptedProvider
from nanobot.troubles import TROUBLES
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.store.conftest import Postgres
from tests.store.conftest import postgres as postgres
from tests.store.empty import with_empty_store
from tests.stored import lists_of, outbox_of

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


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    """The line of the configuration that names the database."""
    if request.param == "sqlite":
        return ""
    postgres: Postgres = request.getfixturevalue("postgres")
    return f"database_url = '{postgres.empty()}'\n"


def _write(folder: Path, more: str) -> None:
    folder.mkdir(exist_ok=True)
    if "database_url" not in more:
        with_empty_store(folder)
    config = f"{more}\n[web]\nport = 0\n[agent]\nremember = 'off'\n"
    (folder / "config.toml").write_text(config)


@asynccontextmanager
async def serving(folder: Path, more: str = "") -> AsyncIterator[Parts]:
    _write(folder, more)
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(ScriptedProvider("First.", "Second.")))
    gateway = Gateway(load(environ), environ, channels=False, page=True, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def say(parts: Parts, text: str, chat: str = "desk") -> None:
    headers = {"Authorization": f"Bearer {parts.plugged.offers.get(Access).own}"}
    async with (
        aiohttp.ClientSession(parts.http.url, headers=headers) as session,
        session.post(f"/api/sessions/web:{chat}/messages", json={"text": text}) as answer,
    ):
        assert answer.status < 300, await answer.text()


async def arrived(parts: Parts, count: int) -> list[OutboxView]:
    """The messages to people that have arrived, once there are so many."""
    async with asyncio.timeout(20):
        while True:
            rows = await outbox_of(parts.engine.records).listed(state="sent", limit=10)
            if len(rows) >= count:
                return rows
            await asyncio.sleep(0.05)


async def test_a_hook_writes_with_the_receipt_and_one_that_fails_leaves_nothing_behind(
    site: Site, database: str, tmp_path: Path
) -> None:
    site.bring("bells", BELLS.format(name="bells", then="pass"))
    site.bring("cracked", BELLS.format(name="cracked", then="raise ZeroDivisionError('cracked')"))
    async with serving(tmp_path / "home", database) as parts:
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
        (cracked,) = [each for each in plugin_views(parts.plugged) if each.name == "cracked"]
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
    verb: str, then: str, site: Site, database: str, tmp_path: Path
) -> None:
    site.bring("cracked", CRACKED.format(verb=verb, other=FAILING[verb], then=then))
    # Only one plugin limits notifications.
    more = f"{database}[plugins]\noff = ['quiet']\n"
    async with serving(tmp_path / "home", more) as parts:
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
        (cracked,) = [each for each in plugin_views(parts.plugged) if each.name == "cracked"]
        assert cracked.state == "failed"


def _troubles() -> str:
    return ", ".join(str(each.what) for each in TROUBLES.recent())


KEEPS = """
    import sqlalchemy as sa
    from nanobot.seam.plugin import Plugin


    class Keeper:
        def arrives(self, connection, row):
            connection.execute(
                sa.text("INSERT INTO {name} (chat) VALUES (:chat)"),
                {{"chat": str(row.message.address)}},
            )

        def erases(self, connection, session_key):
            query = sa.text("DELETE FROM {name} WHERE chat = :chat")
            connection.execute(query, {{"chat": session_key}})
            if connection.scalar(sa.text("SELECT count(*) FROM {name} WHERE chat = 'cracked'")):
                {then}


    PLUGIN = Plugin(
        name="{name}",
        summary="Keeps.",
        migrations=("CREATE TABLE {name} (chat TEXT)",),
        store_hooks=Keeper,
    )
"""


@pytest.mark.parametrize("then", THEN)
async def test_conversations_are_removed_where_a_hook_fails_and_it_is_called_again(
    then: str, site: Site, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eraser, "AGAIN_SECONDS", 0.1)
    for name in ("bells", "cracked"):
        site.bring(name, KEEPS.format(name=name, then=then))
    async with serving(tmp_path / "home", database) as parts:
        tables: PluginTables = parts.plugged.offers.find(PluginTables)
        await tables.change("INSERT INTO cracked (chat) VALUES ('cracked')")
        for count, chat in enumerate(("desk", "hall"), 1):
            await say(parts, "Hello?", chat)
            await arrived(parts, count)
        for chat in ("desk", "hall"):
            why = f"the plugin cracked keeps of web:{chat} failed .* tried again every minute"
            with pytest.raises(StoreError, match=why):
                await parts.operations.call("sessions delete", {"session": f"web:{chat}"})
            assert await lists_of(parts.engine.records).one(f"web:{chat}") is None
            assert f"the plugin cracked keeps of web:{chat}" in _troubles()
        assert await tables.rows("SELECT chat FROM bells") == []
        assert len(await tables.rows("SELECT chat FROM cracked")) == 3
        await tables.change("DELETE FROM cracked WHERE chat = 'cracked'")
        async with asyncio.timeout(20):
            while await tables.rows("SELECT chat FROM cracked"):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
            while "keeps of web:" in _troubles():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)


async def test_once_a_later_conversation_with_that_key_is_erased_the_next_one_is_not(
    site: Site, tmp_path: Path
) -> None:
    site.bring("cracked", KEEPS.format(name="cracked", then=THEN[0]))
    async with serving(tmp_path / "home") as parts:
        tables: PluginTables = parts.plugged.offers.find(PluginTables)
        await tables.change("INSERT INTO cracked (chat) VALUES ('cracked')")
        await say(parts, "Hello?")
        await arrived(parts, 1)
        with pytest.raises(StoreError, match="the plugin cracked keeps of web:desk"):
            await parts.operations.call("sessions delete", {"session": "web:desk"})
        await tables.change("DELETE FROM cracked WHERE chat = 'cracked'")
        await say(parts, "Hello again?")
        await arrived(parts, 1)
        await parts.operations.call("sessions delete", {"session": "web:desk"})
        assert await tables.rows("SELECT chat FROM cracked") == []
        await tables.change("INSERT INTO cracked (chat) VALUES ('web:desk')")
        await parts.operations.of(Eraser).finish()  # type: ignore[type-abstract]
        assert len(await tables.rows("SELECT chat FROM cracked")) == 1


async def test_what_a_plugin_did_not_erase_waits_while_it_is_off(
    site: Site, tmp_path: Path
) -> None:
    site.bring("cracked", KEEPS.format(name="cracked", then=THEN[0]))
    home = tmp_path / "home"
    async with serving(home) as parts:
        await parts.plugged.offers.find(PluginTables).change(
            "INSERT INTO cracked VALUES ('cracked')"
        )
        await say(parts, "Hello?")
        await arrived(parts, 1)
        with pytest.raises(StoreError, match="the plugin cracked keeps of web:desk"):
            await parts.operations.call("sessions delete", {"session": "web:desk"})
    async with serving(home, "[plugins]\noff = ['cracked']\n") as parts:
        await say(parts, "Hello?", "hall")
        await arrived(parts, 1)
        await parts.operations.call("sessions delete", {"session": "web:hall"})
        await parts.plugged.offers.find(PluginTables).change(
            "DELETE FROM cracked WHERE chat = 'cracked'"
        )
    async with serving(home) as parts, asyncio.timeout(20):
        tables: PluginTables = parts.plugged.offers.find(PluginTables)
        while await tables.rows("SELECT chat FROM cracked"):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


async def test_a_hook_without_a_known_function_is_named(site: Site, tmp_path: Path) -> None:
    code = BELLS.format(name="bells", then="pass").replace("def arrives", "def arrived")
    site.bring("bells", code)
    async with serving(tmp_path / "home") as parts:
        (bells,) = [each for each in plugin_views(parts.plugged) if each.name == "bells"]
        assert bells.state == "failed"
        assert "has no function `ends`, `arrives` or `erases`" in bells.why
