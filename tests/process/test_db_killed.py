"""`nanobot db migrate` killed anywhere leaves the source whole, and the target empty or whole."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.common.store.at_rest import at_rest
from nanobot.plugins.maintenance.store import maintenance
from nanobot.plugins.postgres.store.moving import migrate_to
from tests.plugins.maintenance.test_maintenance import source  # noqa: F401 - a fixture
from tests.store.conftest import Postgres
from tests.store.filling import everything

MOVING = """
import os, signal, sys
import sqlalchemy as sa
from nanobot.plugins.postgres.store.moving import migrate_to
from nanobot.plugins.maintenance.store import maintenance

source, target, words, nth = sys.argv[1:]
seen = 0

def reach(statement):
    global seen
    seen += words in statement
    if words in statement and seen == int(nth):
        os.kill(os.getpid(), signal.SIGKILL)

@sa.event.listens_for(sa.Engine, "before_cursor_execute")
def before(connection, cursor, statement, *_):
    reach(statement)

@sa.event.listens_for(sa.Engine, "commit")
def committing(connection):
    reach("COMMIT")

migrate_to(source, target)
reach("DONE")
"""

TO_POSTGRESQL = (("CREATE TABLE", 9), ("FROM entries", 2), ("COMMIT", 2))
TO_A_FILE = (("CREATE TABLE", 9), ("INSERT INTO entries", 1))


def content(url: str) -> dict[str, object]:
    with at_rest(url) as database:
        return database.run_now(everything)


def killed(origin: str, target: str, words: str, nth: int) -> None:
    command = [sys.executable, "-c", MOVING, origin, target, words, str(nth)]
    ended = subprocess.run(command, check=False, timeout=120, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.parametrize(("kind", "points"), [("postgres", TO_POSTGRESQL), ("file", TO_A_FILE)])
def test_a_move_killed_anywhere_is_made_once_more(
    source: str,  # noqa: F811
    postgres: Postgres,
    tmp_path: Path,
    kind: str,
    points: tuple[tuple[str, int], ...],
) -> None:
    before = content(source)
    for number, (words, nth) in enumerate(points):
        target = postgres.empty() if kind == "postgres" else f"sqlite:///{tmp_path}/{number}.db"
        killed(source, target, words, nth)
        assert content(source) == before, words
        assert not any(rows for name, rows in content(target).items() if name != "meta"), words
        migrate_to(source, target)
        assert content(target) == before, words
        assert not maintenance.check_store(target).problems


def test_a_move_killed_when_it_was_done_is_done(
    source: str,  # noqa: F811
    postgres: Postgres,
) -> None:
    before, target = content(source), postgres.empty()
    killed(source, target, "DONE", 1)
    assert content(target) == before
    with pytest.raises(UsageError, match="not empty"):
        migrate_to(source, target)
