"""NANOBOT_CRASH_AT: the process dies right before or right after a verb, and nowhere else."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nanobot.errors import ConfigError
from nanobot.plugins.common.store import chain
from nanobot.plugins.common.store.requested_runs import RequestedRuns
from nanobot.plugins.library.store import Consuming
from nanobot.plugins.models.store import SessionModels
from nanobot.plugins.progress.store import PreviewRows
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.lock import HomeLock
from nanobot.store.database.sqlite import SqliteDatabase
from tests.store.crash_points import VERBS as OF_JOURNAL
from tests.store.crash_points import crash_points
from tests.store.making import KEY
from tests.store.processes import ending_of, live

OF_PLUGINS = tuple(
    verb
    for store in (Consuming, RequestedRuns, PreviewRows, SessionModels)
    for verb in crash_points(store)
)
VERBS = (*OF_JOURNAL, "answer")

# What is in the tables once the verb was done for the first time, and not before.
TRACES = {
    "account": "FROM channel_accounts WHERE identity = 'a bot'",
    "set_model": "FROM sessions WHERE model = 'another/model'",
    "admit": "FROM inbound",
    "fetched": "FROM inbound WHERE dedupe_key = 'photo' AND NOT awaiting_files",
    "performed": "FROM inbound WHERE dedupe_key = '/wait' AND state = 'settled'",
    "claim": "FROM runs",
    "take_pending": "FROM entries WHERE kind = 'user' AND seq = 2",
    "start_model": "FROM entries WHERE kind = 'model_call'",
    "start_auxiliary": "FROM model_call_costs WHERE call = 0",
    "start_retry": "FROM model_call_costs WHERE state = 'estimated' AND tokens_in = 3",
    "record_reply": "FROM entries WHERE kind = 'reply'",
    "start_tool": "FROM entries WHERE kind = 'tool_started'",
    "record_result": "FROM entries WHERE kind = 'tool_result'",
    "park": "FROM approvals",
    "answer": "FROM entries WHERE kind = 'decision'",
    "finish": "FROM runs WHERE state = 'completed'",
    "release": "FROM runs WHERE id = 'r2' AND attempts = 0",
    "post": "FROM entries WHERE kind = 'post'",
    "preview": "FROM outbound WHERE key = 'r1:0' AND attempts > 0",
    "begin_send": "FROM outbound_parts WHERE text = 'one'",
    "receipt": "FROM outbound_parts WHERE state = 'sent'",
    "defer": "FROM outbound WHERE not_before > 0",
    "bury": "FROM outbound WHERE state = 'dead'",
    "move_chat": "FROM moved_chats",
    "take_inbound": "FROM sessions WHERE key = 'program' AND token = 1",
    "abort": "FROM inbound WHERE dedupe_key = 'r3' AND state = 'settled'",
}


def count(home: Path, trace: str) -> int:
    """How many such rows a home has."""
    with closing(sqlite3.connect(home / "state.db")) as connection:
        (number,) = connection.execute(f"SELECT count(*) {trace}").fetchone()
    return int(number)


def chain_holds(home: Path) -> None:
    """The log is whole, whatever happened."""
    database = SqliteDatabase(home / "state.db")
    database.run_now(lambda connection: chain.verify(connection, KEY))
    database.shut()


def test_every_verb_that_writes_leaves_a_trace_to_look_for() -> None:
    assert set(TRACES) == {*VERBS, *OF_PLUGINS}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verb", [*VERBS, *OF_PLUGINS])
def test_a_process_killed_at_a_verb_leaves_it_whole_or_not_at_all(
    tmp_path: Path, verb: str, when: str
) -> None:
    assert ending_of(live, tmp_path, f"{verb}:{when}") == -signal.SIGKILL
    assert bool(count(tmp_path, TRACES[verb])) == (when == "after")
    chain_holds(tmp_path)
    with HomeLock(tmp_path, "test") as lock:
        assert lock.unclean


@pytest.mark.parametrize(("when", "expected"), [("before", 1), ("after", 2)])
def test_the_nth_time_is_counted(tmp_path: Path, when: str, expected: int) -> None:
    assert ending_of(live, tmp_path, f"admit:2:{when}") == -signal.SIGKILL
    assert count(tmp_path, "FROM inbound") == expected


def test_without_a_crash_point_a_process_ends_by_itself(tmp_path: Path) -> None:
    assert ending_of(live, tmp_path, "") == 0
    assert {verb for verb, trace in TRACES.items() if not count(tmp_path, trace)} == set()
    with HomeLock(tmp_path, "test") as lock:
        assert not lock.unclean


def test_a_verb_that_is_never_reached_kills_nobody(tmp_path: Path) -> None:
    assert ending_of(live, tmp_path, "finish:9") == 0


@pytest.mark.parametrize(
    ("text", "verb", "times", "side"),
    [
        ("", "", 1, "before"),
        ("finish", "finish", 1, "before"),
        ("finish:3", "finish", 3, "before"),
        ("finish:after", "finish", 1, "after"),
        ("start_model:2:after", "start_model", 2, "after"),
        ("start_model:2:before", "start_model", 2, "before"),
    ],
)
def test_a_crash_point_is_a_verb_a_number_and_a_side(
    text: str, verb: str, times: int, side: str
) -> None:
    point = Failpoints(text)
    assert (point.verb, point.left, point.side) == (verb, times, side)


@pytest.mark.parametrize(
    "text",
    [
        ":",
        "finish:",
        "finish:0",
        "finish:-1",
        "finish:during",
        "finish:after:2",
        "a:1:2",
        "finish:²",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="NANOBOT_CRASH_AT"):
        Failpoints(text)
