"""No reading transaction grows with the store: nobody waits for a list or an export of another."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import nanobot.plugins
import nanobot.store
from nanobot.errors import NanobotError, UnknownId
from nanobot.messages import Address, Sender, deletion
from nanobot.plugins.budgets.limits import Account
from nanobot.plugins.common.store import named_files
from nanobot.plugins.common.store.session_log import SqlSessionLog
from nanobot.plugins.conversations.lists import Filter
from nanobot.plugins.fork.plan import ForkRequest
from nanobot.plugins.memory.remember import DueSession
from nanobot.plugins.metrics.meter import Ended
from nanobot.plugins.proof.store.log_rows import Place
from nanobot.plugins.search.query import parsed
from nanobot.plugins.traces.store import Progress
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import CRASH_POINTS
from tests.store.crowding import LONG, Cost, MeteredDatabase, crowd
from tests.store.empty import create_tables
from tests.store.home import Home, in_memory
from tests.store.making import KEY, answered, begun
from tests.stored import log_of

CHAT = Address("telegram", "7")
SECONDS = 0.020
ROWS, STEPS = 2_100, 60_000
"""What a transaction may read. Both are counted, so a busy machine changes neither."""

GIVEN: dict[str, Any] = {
    **dict.fromkeys(("key", "session", "session_key"), LONG),
    **dict.fromkeys(("after", "last", "skip", "seq"), 0),
    **dict.fromkeys(("state", "kind", "before", "beyond", "by", "prefix", "name", "parent_id"), ""),
    **dict.fromkeys(("number", "identity"), 5),
    "unread": True,
    **dict.fromkeys(("cutoff", "now", "at"), 2e9),
    **dict.fromkeys(("quiet_seconds", "silent_for", "since"), 0.0),
    **dict.fromkeys(("within", "scopes", "job_id", "place", "parent", "head", "walk"), None),
    **dict.fromkeys(("address", "chat"), CHAT),
    "channel": "telegram",
    "line": "",
    "owner": "gone",
    "shares": False,
    "tables": ("runs",),
    "restored": True,
    "helping": False,
    "addresses": [CHAT],
    "limit": 1_000,
    "count": 20,
    "find": "word",
    "words": "word",
    "run_id": "long-5",
    "digest": "x" * 64,
    "day": "2026-01-01",
    "model": "m",
    "scope": "scope",
    "sender_id": "1",
    "person": "telegram:1",
    "which": Filter(find="word"),
    "wanted": [f"telegram:{number}" for number in range(1_000)],
    "chats": ["telegram:7"],
    "marks": ["a", "b"],
    "message": deletion(CHAT, "long-5"),
    "message_id": "1",
    "message_ids": ("1", "2"),
    "keys": [LONG],
    "names": ["x"],
    "server": "it",
    "endpoint": "https://push.test/1",
    "sender": Sender("1", "Somebody"),
    "ids": ["r0", "r1"],
    "scores": [(1, 1.0)],
    "who": {},
    "due": DueSession(session_key=LONG, remembered_seq=0, head=5_000, model=None),
    "ended": [Ended(f"long-{number}", "telegram", (number,), "key") for number in range(200)],
    "among": tuple(f"long-{number}" for number in range(200)),
    "progress": Progress(),
    "request": ForkRequest(),
    "first": 0,
    "end": 1_000,
    "of": lambda name: [name],
}
"""What a reading verb is asked for, by the names of its parameters. A new name needs a line."""
APART: dict[str, dict[str, Any]] = {
    "SqlJobs.find": {"which": "no such job"},
    "LogPages.following": {"place": Place(0, b"")},
    "SqlJobs._some_listed": {"state": "others"},
    "NamedFiles._is_named": {"place": named_files.Place(), "chat": "7"},
    "SqlEraser._erase_quotes": {"names": []},
    "SqlEraser._search": {"place": named_files.Place()},
    "LogSearch._find": {"wanted": parsed("word long"), "keys": None, "before": 0},
    "LogIndexing._behind": {"after": ""},
    "Retention._due": {"after": ""},
    "Chains._some_keys": {"after": ""},
    "SqlAccessTokens._some": {"after": None},
    "SqlMemoryStore._some_scopes": {"after": None},
    "SqlMemoryStore.by_digest": {"digest": b"x"},
    "SqlApprovals._some": {"before": None},
    "SqlOutbox._some": {"before": None, "size": 250},
    "StoreCounts._counted": {"name": "unreadable"},
    "SqlPairingStore._some": {"after": None},
    "SqlApprovals._some_asked_by": {"before": None},
    "SqlApprovals._some_rules": {"before": None},
    "SqlUsageStore.standing": {"who": Account(person="", chat="", job="", model="m")},
    "SqlUsageStore.rows": {"by": "day", "since": "2026-01-01"},
    "SqlUsageStore.tokens": {"since": 0.0, "until": 1e12},
}


def every_store() -> Iterator[type]:
    """Every class of the store, and of the stores of plugins."""
    core = [m.name for m in pkgutil.walk_packages(nanobot.store.__path__, "nanobot.store.")]
    every = pkgutil.walk_packages(nanobot.plugins.__path__, "nanobot.plugins.")
    of_plugins = [m.name for m in every if ".store" in m.name]
    for name in (*core, *of_plugins):
        if ".migrations." in name:
            continue
        for value in vars(importlib.import_module(name)).values():
            if inspect.isclass(value) and value.__module__ == name:
                yield value


def verbs_of(store: type, *, writing: bool) -> list[str]:
    """The names of a class's verbs that write, or of those that do not."""
    verbs = {id(verb) for verb, crash_point in CRASH_POINTS.items() if bool(crash_point) is writing}
    return [name for name, method in vars(store).items() if id(method) in verbs]


VERBS = sorted(
    (f"{store.__name__}.{name}", store, name)
    for store in every_store()
    for name in verbs_of(store, writing=False)
)
ELSEWHERE = {"SqlJournal.ready"}
"""What has tests of its own."""


class Crowded:
    """A store with many rows that tells what a call of one of its verbs takes."""

    def __init__(self) -> None:
        self.home = Home(_metered, shared=False)

    async def cost(self, name: str, store: type, verb: str, tries: int) -> Cost:
        """Of one transaction, the cheapest of so many."""
        method = getattr(store, verb)
        asked = [
            each
            for each in inspect.signature(inspect.unwrap(method)).parameters.values()
            if each.name not in {"self", "connection", "unit", "_"}
        ]
        given = GIVEN | APART.get(name, {})
        unknown = [each.name for each in asked if each.name not in given]
        assert not unknown, f"say in GIVEN what {name} is called with: {unknown}"
        positional = [given[each.name] for each in asked if each.kind != each.KEYWORD_ONLY]
        named = {each.name: given[each.name] for each in asked if each.kind == each.KEYWORD_ONLY}
        database = self.home.database
        assert isinstance(database, MeteredDatabase)
        writer = StoreContext(self.home.clock, self.home.ids, "us")
        instance: Any = object.__new__(store)
        vars(instance).update(database=database, writer=writer, _channels=(("telegram",),))
        cheapest = Cost(seconds=float("inf"))
        for _ in range(tries):
            database.costs.clear()
            with suppress(NanobotError):
                await method(instance, *positional, **named)
            assert len(database.costs) == 1
            cheapest = min(cheapest, database.costs[0], key=lambda cost: cost.seconds)
        return cheapest

    async def too_long(self, *, timed: bool) -> dict[str, Cost]:
        """The verbs that read more in a transaction than they may."""
        found = {}
        for name, store, verb in VERBS:
            cost = await self.cost(name, store, verb, 3 if timed else 1)
            many = cost.rows > ROWS or cost.steps > STEPS
            if name not in ELSEWHERE and (cost.seconds > SECONDS if timed else many):
                found[name] = cost
        return found


def _metered() -> MeteredDatabase:
    database = MeteredDatabase()
    database.run_now(create_tables)
    return database


@pytest.mark.process
async def test_no_reading_verb_reads_more_in_one_transaction_where_there_is_more() -> None:
    crowded = Crowded()
    await crowd(crowded.home, 6_000, 2_500)
    assert await crowded.too_long(timed=False) == {}
    await crowded.home.database.close()


@pytest.mark.slow
async def test_no_reading_verb_takes_20_ms_of_processor_among_100_000_entries() -> None:
    crowded = Crowded()
    await crowd(crowded.home, 100_000, 20_000)
    assert await crowded.too_long(timed=True) == {}
    await crowded.home.database.close()


@in_memory
async def test_an_export_in_pages_is_the_log_as_it_was_when_it_began(home: Home) -> None:
    await _long_log(home)
    records = home.records()
    whole = await log_of(records).entries(KEY, after=0, limit=100_000)
    log = log_of(records)
    reading = SqlSessionLog._page
    some, place = await reading(log, KEY, 0, 100_000, None)
    await answered(home.journal(), await begun(home.journal(), "later"), "later")
    while place is not None:
        more, place = await reading(log, KEY, 0, 100_000, place)
        some += more
    assert len(some) == 202
    assert tuple(some) == whole


@pytest.mark.process
@in_memory
async def test_an_export_ends_where_the_conversation_is_removed_meanwhile(home: Home) -> None:
    await _long_log(home)
    records = home.records()
    log = log_of(records)
    reading = SqlSessionLog._page
    _, place = await reading(log, KEY, 0, 100_000, None)
    await home.eraser().delete(KEY)
    await _long_log(home)
    with pytest.raises(UnknownId, match="removed while it was being read"):
        await reading(log, KEY, 0, 100_000, place)


async def _long_log(home: Home) -> None:
    for number in range(101):
        claimed = await begun(home.journal(), home.ids.run_id())
        await answered(home.journal(), claimed, f"answer {number}")
