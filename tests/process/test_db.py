"""`nanobot db` by a person: beside a gateway, and from one database to another."""

from __future__ import annotations

import json

from tests.process.harness import Nanobot, World
from tests.store.conftest import Postgres


async def test_a_store_is_kept_beside_a_gateway_and_goes_on_in_postgresql(
    world: World, postgres: Postgres, gateway: Nanobot
) -> None:
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    kept = world.home.parent / "kept.db"
    backup = await world.run("db", "backup", str(kept))
    assert backup.code == 0, backup.errors
    assert kept.stat().st_mode & 0o077 == 0
    checked = await world.run("db", "check", "--json")
    assert json.loads(checked.output)["problems"] == []
    url = postgres.empty()
    for command in (("vacuum",), ("migrate", "--to", url), ("restore", str(kept))):
        refused = await world.run("db", *command)
        assert refused.code == 4, refused.output
        assert str(gateway.pid) in refused.errors
    assert await gateway.stop() == 0

    moved = await world.run("db", "migrate", "--to", url)
    assert moved.code == 0, moved.errors
    world.database_url = url
    world.configure()
    gateway = await world.start()
    world.telegram.say(1, "say:still here")
    await world.said(1, "hello", "still here")
    await world.rests(gateway)
    assert (await world.run("db", "check")).output.endswith("Everything holds.\n")

    world.database_url = ""
    world.configure()
    restored = await world.run("db", "restore", str(kept))
    assert restored.code == 0, restored.errors
    assert "state.db." in restored.output
    assert (await world.run("db", "vacuum")).code == 0
    assert len(world.rows("SELECT id FROM runs")) == 1


async def test_mistakes_with_the_store_are_told(world: World) -> None:
    for command, words in (
        (("migrate", "--to", "mysql://there"), "--to must be"),
        (("migrate", "--to", f"sqlite:///{world.home / 'state.db'}"), "configured already"),
        (("restore", "/nowhere.db"), "there is no file /nowhere.db"),
        (("check",), "no store"),
        (("backup",), "no store"),
        (("vacuum",), "no store"),
        (("backup", "/nowhere/kept.db"), "there is no folder /nowhere"),
    ):
        ended = await world.run("db", *command)
        assert ended.code == 2, ended.output
        assert words in ended.errors
    world.configure(top='database_url = "sqlite:///:memory:"')
    for command in (("backup",), ("check",), ("vacuum",), ("restore", "/nowhere.db")):
        assert (await world.run("db", *command)).code in (2, 3)


async def test_what_is_older_than_it_may_be_is_in_an_archive(world: World) -> None:
    gateway = await world.start()
    world.telegram.say(1, "say:long ago")
    await world.said(1, "long ago")
    assert await gateway.stop() == 0
    world.configure(more="[retention]\nentries_days = 0.000001")
    gateway = await world.start()
    archive = world.home / "archive" / "telegram%3A1.jsonl"
    await world.eventually(lambda: archive.exists() and "archived" in str(reasons(world)))
    await world.rests(gateway)
    assert (await world.run("sessions", "delete", "telegram:1", "--yes")).code == 0
    assert not archive.exists()


def reasons(world: World) -> list[str]:
    return ["archived" for _ in world.rows("SELECT * FROM archived_logs")]
