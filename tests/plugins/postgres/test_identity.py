"""A process that is restarted goes on at once with what it held; another waits for the leases."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from nanobot.plugins.postgres.store.identity import identity_of
from tests.store.conftest import Postgres
from tests.store.home import leases_of
from tests.store.making import KEY
from tests.store.processes import another, answer_until_killed, shared


@pytest.mark.process
async def test_a_gateway_that_is_restarted_after_a_kill_goes_on_at_once(
    tmp_path: Path, postgres: Postgres
) -> None:
    url = postgres.empty()
    with another(answer_until_killed, tmp_path / "one", url) as (pid, line):
        assert line.recv() == "answering"
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(line.poll, 10)
        elsewhere = shared(tmp_path / "two", url)
        assert not await leases_of(elsewhere.journal).hold_channel("telegram")
        assert await elsewhere.journal.ready() == []
        again = shared(tmp_path / "one", url)
        assert await leases_of(again.journal).hold_channel("telegram")
        assert [lane.session_key for lane in await again.journal.ready()] == [KEY]
        claimed = await again.journal.claim(KEY, "unused", "UTC")
        assert claimed is not None
        assert (claimed.run.id, claimed.run.attempts) == ("r1", 2)
        await again.close()
        await elsewhere.close()


async def test_nothing_is_taken_from_a_process_of_the_same_home_that_lives(
    tmp_path: Path, postgres: Postgres
) -> None:
    url = postgres.empty()
    with another(answer_until_killed, tmp_path, url) as (pid, line):
        assert line.recv() == "answering"
        os.kill(pid, signal.SIGSTOP)
        beside = shared(tmp_path, url)
        assert not await leases_of(beside.journal).hold_channel("telegram")
        assert await beside.journal.claim(KEY, "unused", "UTC") is None
        await beside.close()


def test_an_identity_is_the_same_after_a_restart_and_another_in_another_home(
    tmp_path: Path,
) -> None:
    names = []
    for home in ("one", "one", "two"):
        identity = identity_of(tmp_path / home, "gateway")
        assert identity is not None
        assert identity_of(tmp_path / home, "gateway") is None
        identity.lock.release()
        names.append(identity.name)
    assert names[0] == names[1] != names[2]
