"""Without the plugin a row that cannot be read stops nobody, and people learn of it afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import msgspec

from nanobot.config.loader import load
from nanobot.messages import Address
from nanobot.operations.home import Finding
from nanobot.plugins.setup.doctor.plugins import plugins
from nanobot.session.states import RunKind
from nanobot.testing.machine import PATIENCE
from tests.server.housing import House, house
from tests.store.making import admit, said

KEY, OTHER = "web:desk", "web:other"
OFF = '[plugins]\noff = ["quarantine"]'
REMEDY = "This belongs to the plugin quarantine. It is switched off: nanobot plugins on quarantine"


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.02)


async def column(home: Path, query: str) -> list[object]:
    def read() -> list[object]:
        with closing(sqlite3.connect(home / "state.db")) as database:
            return [row[0] for row in database.execute(query)]

    return await asyncio.to_thread(read)


async def wait_with_an_unreadable_role(own: House) -> None:
    """A message waits, and the role of its sender cannot be read."""
    message = msgspec.structs.replace(said("hello", key="m1"), address=Address("web", "desk"))
    await admit(own.parts.engine.journal, message, channel="web", session_key=KEY)
    with closing(sqlite3.connect(own.home / "state.db")) as database, database:
        database.execute("UPDATE inbound SET role = CAST(x'6bff' AS TEXT)")
    own.parts.engine.bus.wake(KEY, RunKind.CHAT)


async def test_others_are_answered_and_everything_says_what_is_off(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with house(home, web=OFF) as served:
        await wait_with_an_unreadable_role(served)
        await until(lambda: column(home, "SELECT id FROM quarantine"))
        owner = await served.owner()
        await owner.post(f"/api/sessions/{OTHER}/messages", text="is anybody there?")
        answer = "SELECT id FROM outbound WHERE CAST(body AS TEXT) LIKE '%echo: is anybody there%'"
        await until(lambda: column(home, answer))

        code, refused = await owner.get("/api/quarantine/list")
        assert (code, refused["error"]["code"]) == (404, "plugin_off")
        assert refused["error"]["message"] == REMEDY
        code, rows = await owner.get("/api/sessions/list")
        assert (code, OTHER in [row["key"] for row in rows]) == (200, True)
        _, status = await owner.get("/api/status")
        assert status["unreadable"] == 1
        assert await column(home, "SELECT told FROM quarantine") == [0]

    async with house(home) as served:
        owner = await served.owner()
        _, (row,) = await owner.get("/api/quarantine/list")
        assert (row["table"], row["column"], row["state"]) == ("inbound", "role", "moved")
        notice = "SELECT id FROM outbound WHERE key = 'quarantine:1'"
        assert await column(home, notice)  # the chat learns that its message was lost


async def found(home: Path, settings: str) -> list[Finding]:
    (home / "config.toml").write_text(settings)
    config = load({"NANOBOT_HOME": str(home)})
    findings = [finding async for finding in plugins(config, rows=True)]
    return [finding for finding in findings if finding.about == "rows"]


async def test_doctor_says_why_it_does_not_read_the_rows(tmp_path: Path) -> None:
    async with house(tmp_path):
        pass
    (finding,) = await found(tmp_path, OFF)
    assert finding.level == "warning"
    assert finding.text == f"The rows of the store are not read. {REMEDY}"
    (finding,) = await found(tmp_path, "")
    assert (finding.level, finding.text) == ("ok", "every row can be read")
