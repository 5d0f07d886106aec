"""`nanobot doctor --store` and `nanobot db quarantine`: what cannot be read, and its way back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock
from tests.cli.running import environ_of, run
from tests.store.making import admit, said
from tests.stored import look_through


async def opened(home: Path, *, waits: bool) -> int:
    """Open the store of a home, with a message that waits; how many rows were put aside."""
    context = contexts(SystemClock(), RandomIds(), store_hooks())
    store = open_store(home, "", context, command="test", crash="")
    try:
        if waits:
            await admit(store.journal, said("hello"))
        return await look_through(store.guard)
    finally:
        await store.close()


@pytest.mark.process
async def test_a_row_is_named_shown_and_put_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = environ_of(home)
    home.mkdir()
    await opened(home, waits=True)
    nothing = await run(environ, "db", "quarantine", "list")
    assert (nothing.code, nothing.out.strip()) == (0, "Nothing is in quarantine.")
    with closing(sqlite3.connect(home / "state.db")) as database:
        database.execute("UPDATE inbound SET role = CAST(x'6bff' AS TEXT)")
        database.commit()

    doctor = await run(environ, "doctor", "--store")
    assert "inbound 1 cannot be read: role: it is not UTF-8" in " ".join(doctor.out.split())
    assert doctor.code == 1
    assert await opened(home, waits=False) == 1
    listed = await run(environ, "db", "quarantine", "list")
    assert "#1" in listed.out
    assert "moved  inbound 1\n    role: it is not UTF-8" in listed.out
    (row,) = json.loads((await run(environ, "db", "quarantine", "list", "--json")).out)
    assert (row["table"], row["column"], row["state"]) == ("inbound", "role", "moved")
    assert "role = k\\xff" in (await run(environ, "db", "quarantine", "show", "1")).out
    doctor = await run(environ, "doctor", "--store")
    assert "1 row(s) are in quarantine" in doctor.out

    refused = await run(environ, "db", "quarantine", "restore", "1")
    assert (refused.code, "still cannot be read: role" in refused.err) == (2, True)
    back = await run(environ, "db", "quarantine", "restore", "1", "--set", "role=owner")
    assert (back.code, back.out.strip()) == (0, "inbound 1 is back."), back.err
    with closing(sqlite3.connect(home / "state.db")) as database:
        assert database.execute("SELECT role, state FROM inbound").fetchall() == [
            ("owner", "pending")
        ]
    missing = await run(environ, "db", "quarantine", "show", "7")
    assert (missing.code, "no row 7 in quarantine" in missing.err) == (1, True)
