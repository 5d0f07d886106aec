"""The stores over SQL can be called exactly as their ports say."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import sqlalchemy as sa

from nanobot.plugins.jobs.rules import JobStore
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.session.journal import Journal
from nanobot.session.records import Records
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.records import SqlRecords
from nanobot.store.unit import StoreContext, Unit
from tests.store.home import Home

PAIRS = (
    (Journal, SqlJournal),
    (Records, SqlRecords),
    (JobStore, SqlJobs),
)


def called_with(method: Any) -> list[tuple[str, Any, Any]]:
    """What a caller gives: its names, kinds and defaults."""
    return [
        (value.name, value.kind, value.default)
        for value in inspect.signature(method).parameters.values()
        if value.name not in {"self", "connection", "unit"}
    ]


# mypy compares the types, but not the names of parameters that may be given by position.
@pytest.mark.parametrize(
    ("port", "store", "name"),
    [
        (port, store, name)
        for port, store in PAIRS
        for name, _ in inspect.getmembers(port, inspect.isfunction)
        if not name.startswith("_")
    ],
)
def test_a_verb_takes_its_parameters_by_the_names_of_the_port(
    port: type, store: type, name: str
) -> None:
    assert called_with(getattr(store, name)) == called_with(getattr(port, name))


async def test_a_hook_of_a_package_may_ask_a_unit_what_it_asked_a_connection(home: Home) -> None:
    writer = StoreContext(home.clock, home.ids, "us")

    def asked(connection: Any) -> tuple[bool, bool]:
        unit: Any = Unit(connection, writer)
        assert not hasattr(unit, "no_such_thing")
        return unit.closed, unit.scalar(sa.text("SELECT 1")) == 1

    assert await home.do(asked) == (False, True)
