"""Commands that went on beside a conversation when a process died: in every store."""

from __future__ import annotations

from nanobot.messages import Address, Role
from nanobot.plugins.shell.background import StartedCommand
from nanobot.plugins.shell.store import SqlBackgroundCommands
from nanobot.store.unit import StoreContext
from tests.store.home import Home, on_postgres, on_sqlite

SILENT_FOR = 60.0


def records(home: Home, owner: str = "us") -> SqlBackgroundCommands:
    lease = 600.0 if home.shared else None
    return SqlBackgroundCommands(home.database, StoreContext(home.clock, home.ids, owner, lease))


def command(text: str) -> StartedCommand:
    return StartedCommand(
        id=0,
        session_key="telegram:1",
        address=Address("telegram", "1", "7"),
        sender_id="1",
        role=Role.MEMBER,
        command=text,
    )


async def silence(home: Home) -> None:
    """A long time has passed by whichever clock counts."""
    await home.execute("UPDATE background_commands SET seen_at = seen_at - 1000")


async def test_what_a_dead_process_had_started_is_found_with_all_that_is_known(home: Home) -> None:
    dead = records(home, "dead")
    first, second = await dead.started(command("sleep 1")), await dead.started(command("sleep 2"))
    await dead.ended(first)
    await silence(home)
    (lost,) = await records(home).lost(SILENT_FOR)
    assert lost.id == second
    assert (lost.command, lost.address, lost.role) == (
        "sleep 2",
        Address("telegram", "1", "7"),
        Role.MEMBER,
    )
    await records(home).ended(second)
    assert await records(home).lost(SILENT_FOR) == []


async def test_ones_own_are_not_lost(home: Home) -> None:
    await records(home).started(command("sleep 1"))
    await silence(home)
    assert await records(home).lost(SILENT_FOR) == []


@on_postgres
async def test_those_of_a_process_that_lives_are_not_lost(home: Home) -> None:
    other = records(home, "other")
    await other.started(command("sleep 1"))
    await silence(home)
    await other.beat()
    assert await records(home).lost(SILENT_FOR) == []


@on_sqlite
async def test_where_no_other_process_can_live_all_of_the_others_are_lost(home: Home) -> None:
    await records(home, "other").started(command("sleep 1"))
    assert len(await records(home).lost(SILENT_FOR)) == 1
