"""No writing transaction grows with the store: each verb that writes is called where there is much.

The cases come from the stores themselves, so a new verb is among them; it may need a line in GIVEN.
Each is undone after it was measured, so none of them changes what the others find.
"""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

import msgspec
import pytest

from nanobot.errors import NanobotError
from nanobot.messages import Address, Role, RunOptions
from nanobot.plugins.approvals.port import ApprovalAnswer
from nanobot.plugins.common.runs.background_runs import NewTask, TaskRequest
from nanobot.plugins.common.store import named_files
from nanobot.plugins.erasure.store import session_removal
from nanobot.plugins.erasure.store.retention import Slice
from nanobot.plugins.fork.plan import ForkRequest, plan_of
from nanobot.plugins.fork.store import SqlForks
from nanobot.plugins.mcp.pins import Said
from nanobot.plugins.memory.records import Draft, FileChanges
from nanobot.plugins.memory.remember import DueSession
from nanobot.plugins.page.store import PushSubscription
from nanobot.plugins.search.store.log_words import IndexedEntry, Unindexed
from nanobot.plugins.shell.background import StartedCommand
from nanobot.plugins.titles.titling import Untitled
from nanobot.plugins.voice.speaking import VoiceAnswer
from nanobot.plugins.web_access.store import AccessToken
from nanobot.providers.base import Usage
from nanobot.session.entries import FeedbackEntry, RememberEntry
from nanobot.session.inbox import Busy
from nanobot.session.lasting import Provenance
from nanobot.session.runs import Claim, NewRun
from nanobot.session.states import RunState
from nanobot.store.database.database import Work
from nanobot.store.held_lanes import Hold
from tests.store.crowding import LONG, Cost, MeteredDatabase, crowd
from tests.store.empty import create_tables
from tests.store.home import Home
from tests.store.making import (
    CHAT,
    PROMPT,
    RESULT,
    STARTED,
    admit,
    answered,
    approval,
    aside,
    asked,
    begun,
    call,
    ending,
    following,
    let_in,
    performing,
    prompt,
    rendered,
    reply,
    said,
    told,
    with_file,
)
from tests.store.test_jobs import plan
from tests.store.test_short_transactions import ROWS, SECONDS, STEPS, every_store, verbs_of

T = TypeVar("T")


class _Undone(Exception):
    """What was measured is not kept."""


class UndoingDatabase(MeteredDatabase):
    """A metered database that keeps nothing while it `undoes`."""

    undoes = False

    async def transact(self, work: Work[T], verb: str = "") -> T:
        if not self.undoes:
            return await super().transact(work, verb)
        given: list[T] = []

        def undone(connection: Any) -> T:
            given.append(work(connection))
            raise _Undone

        try:
            return await super().transact(undone, verb)
        except _Undone:
            return given[0]


def _opened() -> UndoingDatabase:
    database = UndoingDatabase()
    database.run_now(create_tables)
    return database


VERBS = sorted(
    (f"{store.__name__}.{name}", store, name)
    for store in every_store()
    for name in verbs_of(store, writing=True)
)


class Crowded:
    """A store with much in it, and runs in each state."""

    def __init__(self) -> None:
        self.home = Home(_opened, shared=False)
        self.journal = self.home.journal()

    async def filled(self, entries: int, rows: int) -> None:
        await crowd(self.home, entries, rows)
        journal = self.journal
        self.new = await begun(journal, "new", LONG)
        await admit(journal, said("and this"), session_key=LONG)
        self.modelled = await self._modelled("modelled", "telegram:12")
        self.tooled = await self._modelled("tooled", "telegram:13")
        await journal.record_reply(self.tooled.lane, self.tooled.run, reply())
        forks = SqlForks(self.home.database, journal.writer)
        asked_for = ForkRequest(say="something else")
        self.fork = plan_of(await forks.source("tooled", asked_for), asked_for)
        await self._parked("parked", "telegram:14")
        ended = await begun(journal, "ended", "telegram:15")
        await answered(journal, ended, "an answer", address=Address("telegram", "15"))
        self.owed = await following(journal, Address("telegram", "15"))
        await admit(journal, said("waits"), session_key="telegram:16")
        (taken,) = await admit(journal, with_file("f", session_key="telegram:17"))
        self.unfetched = taken.inbound_id
        (taken,) = await admit(journal, performing())
        self.command = taken.inbound_id
        self.reserved = await journal.start_auxiliary(self.new.lane, self.new.run, aside())
        self.job = await self.home.jobs().add(plan(self.home), 2e9, "a job", 10_000_000)

    async def _modelled(self, run_id: str, key: str) -> Claim:
        claimed = await begun(self.journal, run_id, key)
        await asked(self.journal, claimed)
        return claimed

    async def _parked(self, run_id: str, key: str) -> None:
        claimed = await self._modelled(run_id, key)
        await self.journal.record_reply(claimed.lane, claimed.run, reply())
        question = approval(run_id=run_id, session_key=key)
        await self.journal.park(claimed.lane, claimed.run, question)
        (self.approval,) = await self.home.column(
            "SELECT id FROM approvals WHERE session_key = :key", key=key
        )

    def given(self, name: str) -> dict[str, Any]:
        """What a verb is called with, by the names of its parameters."""
        task = TaskRequest(type="agent", title="x", input={}, key="k")
        new_task = NewTask(request=task, text="x", options=RunOptions(), report="post")
        usage = Usage(prompt_tokens=1, completion_tokens=1)
        subscription = PushSubscription(
            login="x", endpoint="x", p256dh="x", auth="x", by="1", session_key=LONG, told=0
        )
        aborted = ending(run_id="parked", state=RunState.ABORTED)
        settled = self.reserved.settled(usage)
        provenance = Provenance(session_key=LONG)
        common: dict[str, Any] = {
            **dict.fromkeys(("session_key", "key"), LONG),
            **dict.fromkeys(("channel", "old"), "telegram"),
            **dict.fromkeys(("identity", "number"), 5),
            **dict.fromkeys(("prompt", "done", "begin", "next_at", "after"), None),
            **dict.fromkeys(("name", "about", "who", "new", "text", "title", "error", "by"), "x"),
            "kept": "",
            **dict.fromkeys(("inbound_id",), self.unfetched),
            **dict.fromkeys(("lane",), self.new.lane),
            **dict.fromkeys(("run",), self.new.run),
            **dict.fromkeys(("pinned", "archived", "duplicate"), True),
            **dict.fromkeys(("attachments", "effects", "sessions", "names", "former"), ()),
            "admissions": [let_in(said("new"), LONG)],
            "cursor": "43",
            "lane_limit": 50,
            "busy": Busy(),
            "zone": "UTC",
            "bodies": [RESULT],
            "body": reply(),
            "call": aside(),
            "discarded": usage,
            "approval": approval(run_id="tooled", session_key="telegram:13"),
            "answer": ApprovalAnswer(state="approved", by="ann"),
            "ending": ending("an end", run_id="new"),
            "address": CHAT,
            "run_id": "new",
            "model": "m",
            "message": told("x", "another key"),
            "part": rendered("x")[0],
            "parts": rendered("x", "y"),
            "row": self.owed,
            "idx": 0,
            "message_id": "1",
            "not_before": 2e9,
            "scope": "scope",
            "hold": Hold(self.journal.writer.held),
            "values": {},
            "command": StartedCommand(
                id=0, session_key=LONG, address=CHAT, sender_id="1", role=Role.OWNER, command="x"
            ),
            "token": AccessToken(digest="x", kind="token", name="x", role=Role.OWNER, made_at=1.0),
            "seq": 5,
            "place": named_files.Place(),
            "kind": "x",
            "plan": plan(self.home),
            "most": 10_000_000,
            "job": self.job,
            "job_id": self.job.id,
            "at": 2e9,
            "changes": FileChanges(),
            "draft": Draft(
                scope="scope",
                text="x",
                digest=b"x",
                terms="x",
                state="active",
                kind="note",
                provenance=provenance,
            ),
            "state": "active",
            "file": "MEMORY.md",
            "vectors": {5: b"\0" * 16},
            "role": Role.MEMBER,
            "code": "x",
            "sender_id": "1",
            "pem": "x",
            "marks": ["a", "b"],
            "server": "it",
            "news": {"add": Said("Adds.")},
            "gone": ["sub"],
            "trusting": True,
            "digests": {"add": Said("Adds.").digest},
            "task": new_task,
            "owed": VoiceAnswer(run_id="ended", answer=self.owed.message, at=1.0, attempts=0),
            "notice": None,
            "entry": FeedbackEntry(verdict="up", by="1"),
            "entries": [IndexedEntry(5_000, 1.0, ("word",))],
            "due": DueSession(session_key=LONG, remembered_seq=0, head=5_000, model=None),
            "upto": 5_000,
            "untitled": Untitled(
                session_key=LONG, run_id="new", upto=5_000, question="q", answer="a", model=None
            ),
        }
        of_call = {"call": settled}
        apart: dict[str, dict[str, Any]] = {
            "SqlJournal.account": {"identity": "x"},
            "SqlTriggerState.keep": {"body": b"{}"},
            "SqlJobs.realign": {"after": 0},
            "SqlEraser._remove_slice": {"place": session_removal.Place()},
            "SqlJournal.bury": {"scope": "one"},
            "SqlPushSubscriptions.keep": {"new": subscription},
            "Retention._archived": {"part": Slice(session_key=LONG, last=5, entries=())},
            "LogIndexing._keep": {"part": Unindexed(LONG, 0, ((5_000, 1.0, b""),))},
            "SqlJournal._start_model": {"bodies": [prompt(), call()], "prompt": PROMPT},
            "SqlJournal._start_with_results": self._in(self.tooled)
            | {"bodies": [RESULT, call(2)], "prompt": None},
            "SqlJournal._start_with_reply": self._in(self.modelled)
            | {"bodies": [reply(), RESULT, call(2)], "prompt": None},
            "SqlJournal.start_retry": self._in(self.modelled),
            "SqlJournal._record_reply": self._in(self.modelled) | {"bodies": [reply()]},
            "SqlJournal._record_reply_starting": self._in(self.modelled)
            | {"bodies": [reply(), STARTED]},
            "SqlJournal.start_tool": self._in(self.tooled) | {"body": STARTED},
            "SqlJournal.record_result": self._in(self.tooled),
            "SqlJournal.park": self._in(self.tooled),
            "SqlJournal.performed": {"inbound_id": self.command, "answer": told("x", "its answer")},
            "SqlApprovals.answer": {"identity": self.approval},
            "SqlJournal._claim": {"key": "telegram:16", "run_id": "another"},
            "SqlJournal._admit_claiming": {
                "admission": let_in(said("newer"), "telegram:17"),
                "new": NewRun("another still", "UTC"),
            },
            "SqlRecords.cancel": {"run_id": "parked", "ending": aborted},
            "SqlJobs.add": {"plan": msgspec.structs.replace(plan(self.home), name="new")},
            "SqlEraser._begin_removal": {"key": "telegram:15"},
            "SqlPairingStore.approve": {"code": "ABCD-EFGH"},
            "SqlConversationList.mark_read": {"entry": None},
            "SqlApprovals.seen": {"person": "telegram:1001"},
            "SqlAfterRuns.settle": of_call,
            "SqlTitles.keep": of_call,
            "SqlEvals.settle": of_call,
            "SqlForks.create": {"plan": self.fork},
            "SqlRemembering.record": of_call | {"entry": RememberEntry(text="x", first=1, upto=5)},
            "SqlVoiceAnswers.made": of_call,
            "SqlVoiceAnswers.failed": of_call,
        }
        return common | apart.get(name, {})

    @staticmethod
    def _in(claimed: Claim) -> dict[str, Any]:
        return {"lane": claimed.lane, "run": claimed.run, "run_id": claimed.run.id}

    async def cost(self, name: str, store: type, verb: str) -> tuple[Cost, str]:
        """Of one call, and how it was refused ("": it was done)."""
        method = getattr(store, verb)
        asked_for = [
            each
            for each in inspect.signature(inspect.unwrap(method)).parameters.values()
            if each.name not in {"self", "connection", "unit", "_"}
        ]
        given = self.given(name)
        unknown = [each.name for each in asked_for if each.name not in given]
        assert not unknown, f"say in GIVEN what {name} is called with: {unknown}"
        positional = [
            value
            for each in asked_for
            if each.kind != each.KEYWORD_ONLY
            for value in (
                given[each.name] if each.kind == each.VAR_POSITIONAL else [given[each.name]]
            )
        ]
        named = {e.name: given[e.name] for e in asked_for if e.kind == e.KEYWORD_ONLY}
        database, refused = self.home.database, ""
        assert isinstance(database, UndoingDatabase)
        instance: Any = object.__new__(store)
        vars(instance).update(database=database, writer=self.journal.writer, _zone="UTC")
        cheapest = Cost(seconds=float("inf"))
        database.undoes = True
        for _ in range(3):
            database.costs.clear()
            try:
                await method(instance, *positional, **named)
            except NanobotError as error:
                refused = f"{type(error).__name__}: {error}"
            assert len(database.costs) == 1, name
            cheapest = min(cheapest, database.costs[0], key=lambda cost: cost.seconds)
        database.undoes = False
        return cheapest, refused

    async def all(self) -> dict[str, tuple[Cost, str]]:
        return {name: await self.cost(name, store, verb) for name, store, verb in VERBS}


REFUSED = {
    "SqlAccessTokens.add": "there are more than there may be",
    "SqlAccessTokens.remove": "there is none of that name",
    "SqlPairingStore.approve": "nobody was given that code",
    "SqlPairingStore.revoke": "nobody of that name was let in",
    "SqlPushSubscriptions.keep": "there are more than there may be",
    "SqlQuarantine.restore": "there is no such row",
}
"""What is measured up to its refusal, which comes after it has looked through its table."""


@pytest.mark.process
async def test_no_writing_verb_reads_more_in_one_transaction_where_there_is_more() -> None:
    crowded = Crowded()
    await crowded.filled(6_000, 2_500)
    costs = await crowded.all()
    assert {name for name, (_, refused) in costs.items() if refused} == REFUSED.keys()
    done = {name: cost for name, (cost, refused) in costs.items() if not refused}
    many = {name: c for name, c in done.items() if c.rows > ROWS or c.steps > STEPS}
    assert many == {}
    await crowded.home.database.close()


@pytest.mark.slow
async def test_no_writing_verb_takes_20_ms_of_processor_among_100_000_entries() -> None:
    crowded = Crowded()
    await crowded.filled(100_000, 10_000)
    costs = await crowded.all()
    assert {name: c for name, (c, _) in costs.items() if c.seconds > SECONDS} == {}
    await crowded.home.database.close()
