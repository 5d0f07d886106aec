"""Owners are told, once a day, of what keeps failing; doctor and status name it."""

from __future__ import annotations

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.messages import Role
from nanobot.plugins.troubles.reports import TroubleReports
from nanobot.plugins.troubles.store import SqlOwnerNotices
from nanobot.store.database import schema
from nanobot.store.unit import StoreContext
from nanobot.troubles import TROUBLES
from tests.store.home import Home
from tests.store.making import admit, let_in, said


@pytest.fixture(autouse=True)
def no_other_troubles() -> None:
    """Those of the process are of all tests that it has run."""
    vars(TROUBLES)["_known"].clear()


def fail(what: str, why: str = "the disk is gone") -> None:
    with boundary(what):
        raise OSError(why)


async def told(home: Home) -> list[str]:
    rows = await home.do(lambda c: c.execute(sa.select(schema.outbound.c.body)).all())
    return [msgspec.json.decode(body)["text"] for (body,) in rows]


async def with_an_owner(home: Home) -> TroubleReports:
    journal = home.journal()
    owner = msgspec.structs.replace(let_in(said("hello")), role=Role.OWNER)
    await admit(journal, owner)
    lease = 600.0 if home.shared else None
    notices = SqlOwnerNotices(home.database, StoreContext(home.clock, home.ids, "us", lease))
    return TroubleReports(notices, Bus(journal), home.clock)


async def test_owners_are_told_once_of_what_keeps_failing(home: Home) -> None:
    reports = await with_an_owner(home)
    what = f"erasing the file {home.shared}"
    fail(what)
    await reports.look()
    assert await told(home) == []  # once may be chance
    fail(what)
    for _ in range(3):
        await reports.look()
    (text,) = await told(home)
    assert f"- {what} failed 2 times: the disk is gone" in text
    home.clock.advance(86_400.0)
    await reports.look()
    assert len(await told(home)) == 2
    with boundary(what):
        pass
    assert what not in [each.what for each in TROUBLES.recent()]


async def test_owners_are_told_of_failures_whose_names_no_store_could_hold(home: Home) -> None:
    """A platform may name a chat, and an error may quote, anything."""
    reports = await with_an_owner(home)
    for _ in range(2):
        fail(f"a message in slack:\ud800\0 {home.shared}", "no chat \ud800\0")
    await reports.look()
    (text,) = await told(home)
    named = f"a message in slack:\ufffd\ufffd {home.shared}"
    assert f"- {named} failed 2 times: no chat \ufffd\ufffd" in text


def test_leaving_by_exit_is_a_trouble_too() -> None:
    with boundary("a tool that leaves"):
        raise SystemExit(3)
    assert "a tool that leaves" in [each.what for each in TROUBLES.recent()]
