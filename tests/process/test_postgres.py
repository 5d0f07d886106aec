"""A whole gateway over PostgreSQL, and two of them over one."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from importlib.metadata import entry_points
from pathlib import Path

import aiohttp
import pytest

from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import sign
from tests.doubles.matrix_rooms import ANN, ME
from tests.doubles.matrix_server import MatrixServer
from tests.process.harness import World, open_world
from tests.process.own_server import OwnServer
from tests.store.conftest import Postgres

SECRET = "It's a Secret to Everybody"
HOOK = HookSettings(style="github", secret=SECRET)
CI = f"""
[web]
port = 0
[hooks.ci]
secret = "{SECRET}"
per_minute = 100000
prompt = "say:{{name}}"
"""
TO = 'to = "telegram:1"\n'
HEART = "[heartbeat]\ninterval_seconds = 60\nactive_seconds = 0\n"
MINUTES = 150.0


@pytest.fixture
async def shared_world(world: World, postgres: Postgres) -> World:
    """A world whose store is in a database of its own."""
    world.database_url = postgres.empty()
    world.configure(more=CI + TO)
    return world


@pytest.fixture
async def both(
    shared_world: World, tmp_path: Path
) -> AsyncIterator[tuple[World, World, MatrixServer]]:
    """Two gateways over one database: one on Telegram, the other on Matrix."""
    if not entry_points(group="nanobot.channels", name="matrix"):
        pytest.skip("not installed with Matrix")
    (tmp_path / "other").mkdir()
    async with MatrixServer() as matrix, open_world(tmp_path / "other") as other:
        other.database_url = shared_world.database_url
        arrange(other, matrix)
        yield shared_world, other, matrix


def arrange(other: World, matrix: MatrixServer, more: str = "") -> None:
    """The other gateway has Matrix in the place of Telegram."""
    table = f"""
[channels.matrix]
homeserver = "{matrix.root_url}"
user = "{ME}"
password = "{matrix.password}"
owners = ["{ANN}"]
"""
    other.configure(more=CI + table + more)
    file = other.home / "config.toml"
    file.write_text(file.read_text().replace("[channels.telegram]", _OFF), encoding="utf-8")


_OFF = "[channels.telegram]\nenabled = false"


def door(line: str) -> str:
    match = re.search(r" web=(http://127\.0\.0\.1:\d+) ", line)
    assert match, line
    return match[1]


async def deliver(url: str, key: str, name: str) -> str:
    """Deliver to the hook: what became of it."""
    body = json.dumps({"name": name}).encode()
    headers = sign(HOOK, body, at=0, key=key) | {"Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/hooks/ci", data=body, headers=headers) as answer,
    ):
        return str((await answer.json())["status"])


async def has(world: World, *texts: str) -> None:
    """Wait until all of this was said in the first chat, once each."""
    try:
        await world.eventually(lambda: all(world.texts(1).count(text) == 1 for text in texts))
    except TimeoutError:
        raise AssertionError(f"said {world.texts(1)}, not {texts}") from None


async def test_all_that_a_gateway_does_is_done_over_postgresql(shared_world: World) -> None:
    world = shared_world
    gateway = await world.launch()
    url = door(await gateway.ready())
    write = json.dumps({"command": "echo x >> effects"})
    world.telegram.say(1, f"tool:exec:{write}\nsay:written")
    await has(world, "written")
    world.telegram.say(1, "/cron add send=yes +1s Tea!")
    world.telegram.say(1, "/cron add +1s say:it is time")
    assert await deliver(url, "1", "build ended") == "accepted"
    assert await deliver(url, "1", "build ended") == "known"
    task = json.dumps({"task": "say:far away", "label": "The moon"})
    world.telegram.say(2, f"tool:spawn:{task}\nsay:started")
    fact = json.dumps({"text": "Her boat is called Swallow."})
    world.telegram.say(3, f"tool:memory_save:{fact}\nsay:noted")
    await has(world, "Tea!", "it is time", "build ended")
    assert len(await world.answered(2, 2)) == 2
    await world.said(3, "noted")
    await world.delivered()
    await gateway.kill()

    world.configure(top="drain_seconds = 5", more=CI + TO)
    gateway = await world.launch()
    url = door(await gateway.ready())
    async with asyncio.timeout(30):  # the channels' leases of the process that was killed run out
        while "standby" in (await world.run("status")).output:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.5)
    assert await deliver(url, "1", "build ended") == "known"
    assert await deliver(url, "2", "tests ended") == "accepted"
    await has(world, "tests ended")
    ended = await world.run("memory", "search", "boat", "--json")
    assert [memory["text"] for memory in json.loads(ended.output)] == [
        "Her boat is called Swallow."
    ]
    world.telegram.say(1, "say:still there")
    await has(world, "Tea!", "it is time", "build ended", "still there")
    assert await gateway.stop() == 0
    assert (world.workspace / "effects").read_text() == "x\n"
    world.verify()
    assert world.rows("SELECT status, attempt FROM occurrences") == [("done", 1)] * 4


async def test_a_budget_and_the_proof_of_the_logs_hold_over_postgresql(
    shared_world: World,
) -> None:
    world = shared_world
    gateway = await world.start()
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    assert await gateway.stop() == 0
    world.configure(more='[budgets]\nrequests_per_day = 1\nzone = "UTC"')
    gateway = await world.start()
    world.telegram.say(4, "say:too much")
    (refusal,) = await world.answered(4)
    assert "the budget of 1 model request a day is used up" in refusal
    await world.rests(gateway)
    verified = await world.run("audit", "verify")
    assert verified.code == 0, verified.errors


async def test_a_run_that_a_kill_cut_goes_on_at_once_after_a_restart(
    shared_world: World,
) -> None:
    world = shared_world
    gateway = await world.start()
    world.telegram.say(1, "wait:1\nsay:once")
    await world.asked()
    gateway = await world.revive(gateway)
    world.telegram.say(1, "say:and then")
    async with asyncio.timeout(9):  # with leases of 12 s
        while "and then" not in "".join(world.texts(1)):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
    await world.rests(gateway)
    assert world.rows("SELECT count(*) FROM inbound") == [(2,)]
    assert sum("once" in text for text in world.texts(1)) <= 1


async def test_of_two_gateways_each_time_is_done_once_and_a_delivery_known_by_both(
    both: tuple[World, World, MatrixServer],
) -> None:
    own, other, matrix = both
    first, second = await own.launch(), await other.launch()
    here, there = door(await first.ready()), door(await second.ready())
    await matrix.until(lambda: matrix.since > 0)
    for number in range(6):
        send = "yes" if number % 2 else "no"
        own.telegram.say(1, f"/cron add send={send} +2s say:due {number}")
    matrix.say(matrix.dm, "/cron add send=yes +2s Coffee!")
    async with asyncio.TaskGroup() as tasks:
        deliveries = [
            tasks.create_task(deliver(url, str(key), f"build {key}"))
            for key in range(10)
            for url in (here, there)
        ]
    assert sorted(task.result() for task in deliveries) == ["accepted"] * 10 + ["known"] * 10
    await matrix.until(lambda: "Coffee!" in matrix.texts(matrix.dm))
    query = "SELECT count(*) FROM occurrences WHERE status = 'done'"
    await own.eventually(lambda: own.rows(query) == [(17,)])
    texts = {f"say:due {number}" if number % 2 else f"due {number}" for number in range(6)}
    await has(own, *texts)
    assert await first.stop() == 0
    assert await second.stop() == 0
    own.verify()
    assert matrix.texts(matrix.dm).count("Coffee!") == 1
    runs = "SELECT count(*) FROM runs WHERE session_key = 'hook:ci' AND state = 'completed'"
    assert own.rows(runs) == [(10,)]


@pytest.mark.slow
async def test_of_two_gateways_on_one_channel_one_fetches_and_the_other_takes_over(
    shared_world: World, tmp_path: Path
) -> None:
    holder, telegram = shared_world, shared_world.telegram
    other = World(tmp_path / "other", telegram, holder.model)
    other.database_url = holder.database_url
    other.configure()
    try:
        first = await holder.start()
        telegram.fail("getFile", delay=60)
        file = {"file_id": telegram.extras.put_file(b"hello"), "file_unique_id": "1"}
        telegram.say(1, document=file | {"file_name": "a.txt"}, caption="say:read")
        await telegram.called("getFile")
        await other.start()
        assert "standby" in (await other.run("status")).output
        assert len(telegram.calls_of("getFile")) == 1
        await first.kill()
        telegram.heal()
        await telegram.until(lambda: holder.texts(1) == ["read"], 40)
        assert len(telegram.calls_of("getFile")) == 2
    finally:
        await other.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_of_two_gateways_one_beats(both: tuple[World, World, MatrixServer]) -> None:
    own, other, matrix = both
    own.configure(more=HEART)
    arrange(other, matrix, HEART)
    for world in (own, other):
        world.workspace.mkdir(parents=True, exist_ok=True)
        (world.workspace / "HEARTBEAT.md").write_text("say:It beats.")
    first, second = await own.start(), await other.start()
    await matrix.until(lambda: matrix.since > 0)
    own.telegram.say(1, "say:hello")
    matrix.say(matrix.dm, "say:hello")
    query = "SELECT call_key, status FROM occurrences WHERE status = 'done'"
    async with asyncio.timeout(MINUTES):
        while not 2 <= len(own.rows(query)) == beats_told(own, matrix):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.5)
    assert await first.stop() == 0
    assert await second.stop() == 0
    own.verify()
    beats = own.rows("SELECT scheduled_at FROM occurrences ORDER BY scheduled_at")
    times = [at for (at,) in beats]
    assert all(later - earlier >= 59 for earlier, later in itertools.pairwise(times))
    assert beats_told(own, matrix) == len(beats)


def beats_told(world: World, matrix: MatrixServer) -> int:
    """How often a chat was told of a beat."""
    return world.texts(1).count("It beats.") + matrix.texts(matrix.dm).count("It beats.")


async def test_a_start_waits_for_a_server_that_is_being_restarted(
    world: World, own_server: OwnServer
) -> None:
    world.database_url = own_server.url
    world.configure()
    assert await (await world.start()).stop() == 0
    await own_server.stop()
    gateway = await world.launch("gateway")
    await world.eventually(lambda: "waiting for PostgreSQL at" in world.log)
    await own_server.start()
    await gateway.ready()
    assert await gateway.stop() == 0


async def test_a_start_that_waits_for_a_server_can_be_ended(
    world: World, own_server: OwnServer
) -> None:
    world.database_url = own_server.url
    world.configure()
    await own_server.stop()
    gateway = await world.launch("gateway")
    await world.eventually(lambda: "waiting for PostgreSQL at" in world.log)
    await gateway.stop()
    assert not gateway.running
