"""The beat of a process: it renews its leases and shows who lives; what the dead held is freed."""

from __future__ import annotations

import asyncio

from nanobot.messages import Address
from nanobot.plugins.postgres.store.identity import life_lock, name_of, process_name
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from tests.store.home import Home, leases_of, on_postgres
from tests.store.making import begun, told

LINE = "heard_by_nobody"


async def names(home: Home) -> list[str]:
    rows = await home.database.transact(
        lambda connection: connection.exec_driver_sql(
            "SELECT channel FROM channel_leases ORDER BY channel"
        ).fetchall()
    )
    return [name for (name,) in rows]


class Connection:
    """The lock that a process holds while it lives, on a connection of its own."""

    def __init__(self, home: Home, owner: str) -> None:
        assert isinstance(home.database, PostgresDatabase)
        import psycopg  # noqa: PLC0415 - comes with an extra

        self.line = psycopg.connect(autocommit=True, **home.database.connect_args)
        self.line.execute("SELECT pg_advisory_lock_shared(%s)", (life_lock(name_of(owner)),))

    def cut(self) -> None:
        self.line.close()


@on_postgres
async def test_one_beat_renews_all_leases_and_shows_those_of_others(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    for name in ("telegram", "(scheduler)"):
        assert await leases_of(first).hold_channel(name, shares=name == "telegram")
    await home.execute("UPDATE channel_leases SET until = until - 10 WHERE until > 0")
    assert await leases_of(second).hold_channel("slack")
    own = process_name(name_of("first"))
    found = await leases_of(first).beat(LINE)
    assert found.ours == {"telegram", "(scheduler)", own}
    assert set(found.others) == {"slack"}
    seen = (await leases_of(second).beat()).others
    assert set(seen) == {"telegram", "(scheduler)", own}
    assert all(held.owner == "first" and held.left > 14 for held in seen.values())


@on_postgres
async def test_a_lease_that_another_process_has_taken_is_not_renewed(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    assert await leases_of(first).hold_channel("telegram")
    await home.execute("UPDATE channel_leases SET until = 1")
    assert await leases_of(second).hold_channel("telegram")
    assert "telegram" not in (await leases_of(first).beat(LINE)).ours
    assert "telegram" in (await leases_of(second).beat(LINE)).ours


@on_postgres
async def test_a_process_that_hears_nothing_is_not_seen(home: Home) -> None:
    """Without a connection of its own it has no lock: the others would take it for dead."""
    first, second = home.journal("first"), home.journal("second")
    await leases_of(first).beat(LINE)
    assert process_name(name_of("first")) in (await leases_of(second).beat()).others
    await leases_of(first).beat("")
    assert process_name(name_of("first")) not in (await leases_of(second).beat()).others


@on_postgres
async def test_what_a_process_held_is_free_once_it_is_not_connected(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    connection = Connection(home, "first")
    claim = await begun(first)
    await leases_of(first).beat(LINE)
    assert await leases_of(first).hold_channel("telegram", shares=True)
    assert (await leases_of(first).take_chat(Address("telegram", "1"), helping=False)).ours
    assert (await leases_of(second).beat()).others["telegram"].connected
    assert not await leases_of(second).free_dead("first")
    assert await second.ready() == []
    connection.cut()
    async with asyncio.timeout(10):
        while (await leases_of(second).beat()).others["telegram"].connected:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    assert await leases_of(second).free_dead("first")
    assert [lane.session_key for lane in await second.ready()] == [claim.lane.session_key]
    assert await leases_of(second).hold_channel("telegram")
    assert (await leases_of(second).take_chat(Address("telegram", "1"), helping=False)).ours


@on_postgres
async def test_leases_of_chats_and_processes_that_ended_long_ago_are_removed(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    await leases_of(first).beat(LINE)
    assert (await leases_of(first).take_chat(Address("telegram", "1"), helping=False)).ours
    await leases_of(second).beat()
    assert len(await names(home)) == 2
    await home.execute("UPDATE channel_leases SET until = until - 120")
    await leases_of(second).beat()
    assert await names(home) == []


@on_postgres
async def test_a_beat_says_what_the_newest_open_messages_are(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    before = (await leases_of(second).beat()).newest
    claim = await begun(first)
    after = (await leases_of(second).beat()).newest
    assert after[0] > before[0]
    await second.post(claim.lane.session_key, told("news", "k"))
    assert (await leases_of(second).beat()).newest[1] > after[1]
