"""A gateway without the plugin removes and moves nothing, says so, and makes up for it later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import UnknownId, UsageError
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.common.store import erasures
from nanobot.plugins.erasure.store import session_removal
from nanobot.plugins.memory.index import Memory
from nanobot.plugins.setup.doctor.checks import findings
from nanobot.providers.one_provider import OneProvider
from nanobot.session.lasting import Provenance
from nanobot.store.opening import Store
from nanobot.store.unit import Unit
from nanobot.system import SystemClock
from nanobot.testing.model import ScriptedProvider
from tests.server.housing import house
from tests.stored import log_of

OFF = '[plugins]\noff = ["erasure"]\n'
KEY = "cli:desk"
SECRET = "The hedgehog wears galoshes."
WHY = (
    "sessions delete belongs to the plugin erasure, which is off here: `plugins list` says why, "
    "`plugins on erasure` switches it on."
)
DAY = 86_400.0


class Later(SystemClock):
    """The machine's clock, so many days on."""

    def __init__(self, days: float) -> None:
        self._days = days

    def now(self) -> float:
        return super().now() + self._days * DAY


def write(home: Path, settings: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(settings)


@asynccontextmanager
async def life(home: Path, settings: str = "", days: float = 0.0) -> AsyncIterator[Parts]:
    """One life of a gateway over that home, so many days after the first."""
    write(home, settings)
    environ = {"NANOBOT_HOME": str(home)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    config = load(environ)
    assert config.warnings == ()
    gateway = Gateway(config, environ, clock=Later(days), channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def say(parts: Parts, text: str) -> None:
    asked = RunInput(session_key=KEY, messages=[{"role": "user", "content": text}])
    async for _ in parts.plugged.offers.get(RunService).stream(asked):
        continue


async def log(parts: Parts) -> str:
    entries = await log_of(parts.engine.records).entries(KEY, after=0, limit=1_000)
    return str([entry.body for entry in entries])


async def noted(parts: Parts) -> set[str]:
    """The kinds of erasures that are recorded and not done."""
    query = sa.select(erasures.erasures.c.kind)
    database = parts.operations.of(Store).database
    return set(await database.transact(lambda connection: list(connection.scalars(query))))


async def nothing_is_noted(parts: Parts) -> None:
    async with asyncio.timeout(30):
        while await noted(parts):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)


async def test_who_would_delete_a_conversation_is_told_the_remedy_and_it_stays(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with life(home, OFF) as parts:
        await say(parts, SECRET)
        operations = parts.operations
        assert not operations.has("sessions delete")
        with pytest.raises(UsageError, match=r"switches it on\.$") as refused:
            await operations.call("sessions delete", {"session": KEY})
        assert str(refused.value) == WHY
        for typed in (f"/sessions delete {KEY}", f"/Sessions Delete {KEY}", "/sessions delete"):
            assert not operations.knows(typed)
            assert operations.unknown(typed) == f"/{WHY}"
        assert operations.knows("/sessions list")
        assert SECRET in await log(parts)
    async with life(home) as parts:
        assert parts.operations.knows(f"/sessions delete {KEY}")
        gone = await parts.operations.call("sessions delete", {"session": KEY})
        assert (gone.key, gone.entries > 0) == (KEY, True)
        with pytest.raises(UnknownId):
            await parts.operations.call("sessions show", {"session": KEY})
        await nothing_is_noted(parts)


async def test_programs_get_the_remedy_over_http_and_see_no_such_operation(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        _, me = await owner.get("/api/me")
        assert "sessions archive" in me["operations"]
        assert "sessions delete" not in me["operations"]
        _, described = await owner.get("/openapi.json")
        assert "DeletedSession" not in str(described)
        code, answer = await owner.post("/api/sessions/delete", session=KEY)
        why = "This belongs to the plugin erasure. It is switched off: nanobot plugins on erasure"
        assert (code, answer["error"]) == (404, {"code": "plugin_off", "message": why})


async def test_a_memory_is_forgotten_at_once_and_its_traces_when_the_plugin_is_on(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with life(home, OFF) as parts:
        memory = parts.operations.of(Memory)
        saved = await memory.save("owner", SECRET, Provenance())
        await memory.forget(saved.id)
        assert [hit for hit in await memory.listed(scopes=None) if hit.text == SECRET] == []
        assert await noted(parts) == {erasures.WORDS, erasures.LOGGED}
    async with life(home) as parts:
        await nothing_is_noted(parts)


async def test_old_entries_stay_until_the_plugin_is_on(tmp_path: Path) -> None:
    home, settings = tmp_path / "home", '[agent]\nremember = "off"\n[retention]\nentries_days = 1\n'
    async with life(home) as parts:
        await say(parts, SECRET)
    async with life(home, settings + OFF, days=2) as parts:
        async with asyncio.timeout(30):
            while "jobs and triggers" not in {task.get_name() for task in asyncio.all_tasks()}:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert SECRET in await log(parts)
        assert not (home / "archive").exists()
    async with life(home, settings, days=2) as parts:
        async with asyncio.timeout(30):
            while SECRET in await log(parts):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
        assert [file.name for file in (home / "archive").iterdir()] == ["cli%3Adesk.jsonl"]


async def test_a_removal_that_a_crash_interrupted_waits_for_the_plugin(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with life(home) as parts:
        await say(parts, SECRET)
        store = parts.operations.of(Store)
        with store.writer.held.taking() as hold:
            await store.database.transact(
                lambda c: session_removal.begin_session(Unit(c, store.writer), hold, KEY)
            )
            hold.release()
    async with life(home, OFF) as parts:
        await say(parts, "Are you there?")
        assert "echo: Are you there?" in await log(parts)
        assert erasures.SESSION in await noted(parts)
    async with life(home) as parts:
        assert await log(parts) == "[]"
        await nothing_is_noted(parts)
        await say(parts, "And now?")
        assert "echo: And now?" in await log(parts)


@pytest.mark.process
async def test_doctor_names_what_is_not_erased_while_nothing_erases_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with life(home) as parts:
        await say(parts, SECRET)
        store = parts.operations.of(Store)
        with store.writer.held.taking() as hold:
            await store.database.transact(
                lambda c: session_removal.begin_session(Unit(c, store.writer), hold, KEY)
            )
            names = {erasures.PLUGIN: f'["mine","{KEY}"]', erasures.BLOB: "no digest"}
            for kind, name in names.items():
                await store.database.transact(partial(erasures.note, kind=kind, name=name))
            hold.release()
    left = f"not erased yet: the conversation {KEY}, what the plugin mine keeps of {KEY}, 2 copies"
    remedies = {"": "The next start of the gateway erases it", OFF: "It is switched off: nanobot"}
    for settings, remedy in remedies.items():
        write(home, settings)
        found = await findings({"NANOBOT_HOME": str(home)})
        (finding,) = [each for each in found if each.about == "erasures"]
        assert finding.text.startswith(left)
        assert finding.remedy.startswith(remedy)
