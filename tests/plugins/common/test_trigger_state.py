"""What triggers keep through restarts, in every store."""

from __future__ import annotations

import asyncio

from nanobot.plugins.common.store.trigger_state import SqlTriggerState
from nanobot.store.unit import StoreContext
from tests.store.home import Home


def keeping(home: Home) -> SqlTriggerState:
    return SqlTriggerState(home.database, StoreContext(home.clock, home.ids, "keeper"))


async def test_nothing_is_kept_before_something_was(home: Home) -> None:
    assert await keeping(home).kept("events") is None


async def test_what_was_kept_last_is_there_byte_for_byte_and_apart_by_name(home: Home) -> None:
    here = keeping(home)
    await here.keep("events", b"first")
    await here.keep("events", bytes(range(256)))
    await here.keep("events of another", b"")
    assert await here.kept("events") == bytes(range(256))
    assert await here.kept("events of another") == b""


async def test_it_is_there_after_a_restart(home: Home) -> None:
    await keeping(home).keep("events", b"known")
    await home.reopen()
    if home.durable:
        assert await keeping(home).kept("events") == b"known"


async def test_of_several_who_keep_the_first_at_once_one_is_last_and_none_fails(
    home: Home,
) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in range(12):
            tasks.create_task(keeping(home).keep("events", b"%d" % number))
    assert await home.column("SELECT count(*) FROM trigger_state") == [1]
    assert await keeping(home).kept("events") in {b"%d" % number for number in range(12)}
