"""Several assistants in one database, and an older nanobot beside a newer one."""

from __future__ import annotations

from pathlib import Path

import psycopg

from tests.process.harness import World, open_world
from tests.process.sharing import Cluster, call
from tests.store.conftest import Postgres

RAISED = "ALTER TABLE sessions ADD COLUMN mood text NOT NULL DEFAULT 'calm'"


async def test_assistants_in_schemas_of_one_database_know_nothing_of_each_other(
    world: World, postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.empty()
    (tmp_path / "other").mkdir()
    async with open_world(tmp_path / "other") as other:
        for assistant, name in ((world, "ann"), (other, "bob")):
            assistant.database_url = url
            assistant.configure(top=f'database_schema = "{name}"')
        gateways = [await assistant.start() for assistant in (world, other)]
        for assistant, name in ((world, "ann"), (other, "bob")):
            save = call("memory_save", text=f"The boat of {name} is called Swallow.")
            assistant.telegram.say(1, f"{save}\nsay:for {name}")
            assistant.telegram.say(2, "/cron add send=yes +1s Tea!")
        for assistant, name in ((world, "ann"), (other, "bob")):
            await assistant.said(1, f"for {name}")
            assert "Tea!" in await assistant.answered(2, 2)
        for gateway in gateways:
            assert await gateway.stop() == 0
        for assistant, name, stranger in ((world, "ann", "bob"), (other, "bob", "ann")):
            assistant.database_url = f"{url}&options=-csearch_path%3D{name}"
            assistant.verify()
            assert assistant.rows("SELECT count(*) FROM occurrences") == [(1,)]
            ((text,),) = assistant.rows("SELECT text FROM memories")
            assert name in text
            assert stranger not in text
        with psycopg.connect(url) as connection:
            query = "SELECT schemaname FROM pg_tables WHERE tablename = 'sessions' ORDER BY 1"
            assert connection.execute(query).fetchall() == [("ann",), ("bob",)]


async def test_an_older_nanobot_goes_on_beside_a_newer_one_that_allows_it(
    cluster: Cluster, world: World
) -> None:
    await cluster.start("worker")
    await cluster.start("channels")
    world.telegram.say(1, "say:before")
    await world.said(1, "before")
    with psycopg.connect(world.database_url) as newer:
        newer.execute(RAISED)
        newer.execute("UPDATE alembic_version SET version_num = '0999'")
    world.telegram.say(1, "say:beside it")
    world.telegram.say(2, "say:hello")
    await world.said(1, "before", "beside it")
    await world.said(2, "hello")
    await world.delivered()
    await cluster.start("worker")
    await cluster.members[0].kill()
    world.telegram.say(3, "say:by the next")
    await world.said(3, "by the next")
    await cluster.stop()
    world.verify()
    assert world.rows("SELECT version_num FROM alembic_version") == [("0999",)]
    assert set(world.rows("SELECT mood FROM sessions")) == {("calm",)}

    with psycopg.connect(world.database_url) as newest:
        newest.execute("UPDATE meta SET value = '2' WHERE key = 'min_reader'")
    refused = await world.run("gateway", "--role", "worker")
    assert refused.code == 4
    assert "newer than this nanobot" in refused.errors
