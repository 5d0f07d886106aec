"""Every verb of the store, as the gateway calls it, over a store that is filled already."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from benchmarks.filled import PROMPT
from benchmarks.filled_rows import CHANNEL, PROFILE, TEXT, Size, key_of
from benchmarks.timed_database import TimedDatabase
from nanobot.messages import (
    Address,
    InboundMessage,
    OutboundKind,
    OutboundMessage,
    Role,
    RunOptions,
    Sender,
)
from nanobot.plugins.approvals.port import ApprovalAnswer
from nanobot.plugins.approvals.store.approvals import SqlApprovals
from nanobot.plugins.budgets.store.usage import SqlUsageStore
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.runs.background_runs import NewTask, Parent, TaskRequest
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.cron.jobs import following
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.heartbeat.store import SqlChatHistory
from nanobot.plugins.jobs.rules import OpenTime
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.memory.records import Draft, FileChanges, MemoryLine
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.plugins.memory.store.remembering import SqlRemembering
from nanobot.plugins.pairing.store.pairings import SqlPairingStore
from nanobot.plugins.runs.store import ToolCalls
from nanobot.plugins.tasks.store.tasks import SqlTasks
from nanobot.ports import OutboundPart
from nanobot.providers.base import ToolCall
from nanobot.session.approvals import Approval, Parked, digest
from nanobot.session.entries import (
    ModelCallEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
)
from nanobot.session.inbox import Admission
from nanobot.session.lasting import Provenance
from nanobot.session.runs import Claim, Ending
from nanobot.session.scopes import OWNER
from nanobot.session.states import RunState
from nanobot.store.database.database import Database
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.opening import Store
from nanobot.store.records import SqlRecords
from tests.stored import (
    consuming,
    counts_of,
    lists_of,
    log_of,
    marks_of,
    outbox_of,
    previewing,
    runs_of,
)

EXEC = '{"command": "ls -l"}'
_TERMS = RunOptions(type="sleep", unattended=True)


class Verbs:
    """Each verb, as the gateway calls it."""

    def __init__(self, store: Store, timed: TimedDatabase, size: Size) -> None:
        database: Database = timed
        writer = store.writer
        self._size = size
        self._timed = timed
        self._ids = writer.ids
        self._now = writer.clock.now
        self._eraser = SqlEraser(database, writer)
        self._tasks = SqlTasks(database, writer)
        self._journal = SqlJournal(database, writer)
        self._records = SqlRecords(database, writer)
        self._approvals = SqlApprovals(database, writer)
        self._calls = ToolCalls(database, writer)
        self._chats = SqlChatHistory(database, writer, [[CHANNEL], ["cli"]])
        self._jobs = SqlJobs(database, writer)
        self._jobs.following = following
        self._memories = SqlMemoryStore(database, writer, self._eraser)
        self._remembering = SqlRemembering(database, writer)
        self._pairings = SqlPairingStore(database, writer)
        self._usage = SqlUsageStore(database, writer)

    async def all(self, number: int) -> None:
        """Every one that removes nothing."""
        await self.turn(number)
        await self.approval(number)
        await self.unasked(number)
        await self.reading(number)
        await self.schedule(number)
        await self.background(number)
        await self.memory(number)

    def _chat(self, number: int) -> int:
        """The busiest one, the one that was used last long ago, and some between."""
        busiest = self._size.busiest
        return (busiest, 0, 1, busiest // 2, busiest + 1, 2)[number]

    async def turn(self, number: int) -> None:
        """A message with a round of tools, to the receipt of its answer."""
        chat, journal = self._chat(number), self._journal
        claim = await self._claimed(chat, f"turn {number}")
        reply = ReplyEntry(call=1, text="", tool_calls=(ToolCall("c", "exec", EXEC),))
        await journal.record_reply(claim.lane, claim.run, reply)
        started = ToolStartedEntry(call=1, index=0, name="exec")
        await journal.start_tool(claim.lane, claim.run, started)
        result = ToolResultEntry(call=1, index=0, name="exec", text=TEXT)
        await journal.record_result(claim.lane, claim.run, [result])
        await self._admit(chat, f"steering {number}")
        await journal.take_pending(claim.lane, claim.run, "UTC")
        address = claim.run.address
        answer = OutboundMessage(address=address, text=TEXT, key=claim.run.reply_key)
        preview = OutboundPart(text=TEXT, payload=b"{}", key=f"{answer.key}/preview")
        row = await previewing(journal).preview(claim.run.id, answer, preview)
        assert row is not None
        await journal.receipt(row, 0, f"preview {number}", begin=None)
        await self._model_call(claim, 2)
        ending = Ending(
            state=RunState.COMPLETED,
            bodies=(ReplyEntry(call=2, text=TEXT),),
            outbound=(answer,),
        )
        await journal.finish(claim.lane, claim.run, ending)
        await self._sent(address)

    async def _sent(self, address: Address) -> None:
        timed, journal = self._timed, self._journal
        await timed.named("owed_chats", journal.owed_chats(CHANNEL))
        row = await timed.named("next_outbound", journal.next_outbound(address))
        while row is not None:
            parts = [OutboundPart(text=TEXT, payload=b"{}", key=f"{row.message.key}/0")]
            await journal.begin_send(row, parts, 0, duplicate=False)
            await journal.defer(row, 0, 0.0, "busy")
            row = await timed.named("next_outbound", journal.next_outbound(address))
            assert row is not None
            await journal.begin_send(row, parts, 0, duplicate=False)
            row = await journal.receipt(row, 0, "1", begin=None)

    async def _admit(self, chat: int, text: str) -> None:
        address = Address(CHANNEL, str(chat))
        message = InboundMessage(
            address=address,
            message_id=text,
            dedupe_key=text,
            sender=Sender(str(chat)),
            text=TEXT,
            sent_at=self._now(),
        )
        admission = Admission(message=message, session_key=key_of(chat), role=Role.MEMBER)
        await self._journal.admit(CHANNEL, [admission], text, 50)

    async def _claimed(self, chat: int, text: str) -> Claim:
        await self._admit(chat, text)
        await self._timed.named("ready", self._journal.ready())
        claim = await self._journal.claim(key_of(chat), self._ids.run_id(), "UTC")
        assert claim is not None
        await self._timed.named("history", self._journal.history(key_of(chat)))
        await self._model_call(claim, 1)
        return claim

    async def _model_call(self, claim: Claim, number: int) -> None:
        call = ModelCallEntry(
            call=number,
            prompt=PROMPT,
            window_from=claim.window_from,
            profile=PROFILE,
            estimate=1_000,
            temperature=0.7,
            max_tokens=4_096,
        )
        await self._journal.start_model(claim.lane, claim.run, [call], None)

    async def approval(self, number: int) -> None:
        """A call that an owner is asked about, who spoke last a year ago."""
        chat, journal = self._chat(number), self._journal
        claim = await self._claimed(chat, f"approval {number}")
        reply = ReplyEntry(call=1, text="", tool_calls=(ToolCall("c", "exec", EXEC),))
        await journal.record_reply(claim.lane, claim.run, reply)
        parked = await journal.park(claim.lane, claim.run, self._asked(claim))
        assert isinstance(parked, Parked)
        await self._timed.named("held", journal.held(claim.lane.session_key))
        listed = await self._timed.named(
            "approvals list", self._approvals.approvals(session="", state="open", limit=50)
        )
        given = ApprovalAnswer(state="denied", by="owner", always=True)
        await self._approvals.answer(max(one.id for one in listed), given)
        again = await journal.claim(claim.lane.session_key, self._ids.run_id(), "UTC")
        assert again is not None
        await journal.release(again.lane, again.run)
        ending = Ending(state=RunState.ABORTED, error="cancelled")
        await self._records.cancel(claim.run.id, ending, "owner")
        await self._sent(claim.run.address)

    def _asked(self, claim: Claim) -> Approval:
        return Approval(
            session_key=claim.lane.session_key,
            run_id=claim.run.id,
            model_call=1,
            index=0,
            tool="exec",
            arguments=EXEC,
            digest=digest("exec", EXEC),
            why="it runs a command",
            address=claim.run.address,
            sender_id=claim.run.sender_id,
            role=Role.MEMBER,
            asked_at=self._now(),
            expires_at=self._now() + 3_600,
        )

    async def unasked(self, number: int) -> None:
        """What is said unasked, and what the heartbeat looks at before."""
        timed, address = self._timed, Address(CHANNEL, str(self._chat(number)))
        await timed.named("heartbeat: home", self._chats.home())
        await timed.named("heartbeat: around", self._chats.around(address, 10))
        await timed.named("heartbeat: greeted", self._chats.greeted(f"{CHANNEL}:1"))
        await timed.named("heartbeat: busy", self._chats.busy(str(address)))
        for count in range(8):  # more than an hour allows
            message = OutboundMessage(
                address=address,
                text=TEXT,
                key=f"unasked {number} {count}",
                kind=OutboundKind.POST,
            )
            await self._journal.post(str(address), message)
        await timed.named("quiet release", self._released())
        await self._sent(address)

    async def reading(self, number: int) -> None:
        """What people look at."""
        timed, records, key = self._timed, self._records, key_of(self._chat(number))
        await timed.named("status: counts", counts_of(records).counts())
        await timed.named("status: session", self._journal.session(key))
        await timed.named("sessions list", lists_of(records).newest(limit=50, unread=False))
        await timed.named("sessions list --unread", lists_of(records).newest(limit=50, unread=True))
        await timed.named("sessions show", log_of(records).entries(key, after=0, limit=200))
        for state in ("", "live", "failed"):
            rows = runs_of(records).listed(session="", state=state, limit=50)
            await timed.named(f"runs list {state}".strip(), rows)
        own = runs_of(records).listed(session=key, state="", limit=50)
        await timed.named("runs list --session", own)
        await timed.named("outbox list", outbox_of(records).listed(state="", limit=50))
        await timed.named("outbox list dead", outbox_of(records).listed(state="dead", limit=50))
        calls = self._calls.listed(session=key, name="", limit=50)
        await timed.named("tools history", calls)
        await timed.named("chats of a channel", records.chats(CHANNEL))
        await timed.named("rules", self._approvals.rules())
        await timed.named("pair list", self._pairings.listed(state="", limit=50))
        await timed.named("usage", self._usage.rows("person", "2000-01-01", {}))
        await timed.named("remember: due", self._remembering.due(60.0, ""))
        await timed.named("mark_read", marks_of(records).mark_read(key))
        await timed.named("unfetched", self._journal.unfetched(CHANNEL))
        await timed.named("oldest_owed", consuming(self._journal).oldest_owed())
        await timed.named("take_inbound", consuming(self._journal).take_inbound(None))

    async def schedule(self, number: int) -> None:
        """Jobs."""
        timed, jobs, now = self._timed, self._jobs, self._now()
        chat = self._chat(number)
        plan = Plan(
            name=f"added {number}",
            schedule="0 9 * * *",
            zone="UTC",
            anchor=now,
            text=TEXT,
            address=Address(CHANNEL, str(chat)),
            session_key=f"cron:added-{number}",
            sender_id="1",
            role=Role.OWNER,
            by=f"{CHANNEL}:{chat}",
        )
        job = await jobs.add(plan, now - 1, f"add {number}", 1_000_000)
        await jobs.fire()
        await jobs.fire()
        await timed.named("cron list", jobs.listed(state="", by="", limit=50))
        await timed.named("cron history", jobs.history(job_id=None, limit=50))
        await timed.named("cron history of one", jobs.history(job_id=1, limit=50))
        await jobs.trigger(job.id, at=None, key=f"trigger {number}", text="")
        await jobs.settle([f"cron:{job.id}"])
        await jobs.prune(0)
        after: int | None = 0
        while after is not None:
            after = await jobs.realign(after)

    async def due_together(self) -> None:
        """Every job at once, then one that has ended while all others still run."""
        jobs, journal = self._jobs, self._journal
        at_once = sa.update(job_tables.jobs).values(
            next_at=self._now() - 1, next_due=self._now() - 1
        )
        await self._timed.transact(lambda connection: connection.execute(at_once))
        while (await jobs.fire()).more:
            continue
        for number in range(10):
            key = f"cron:{number + 1}"
            claim = await journal.claim(key, self._ids.run_id(), "UTC")
            assert claim is not None
            failed = Ending(state=RunState.FAILED, error="limit_seconds")
            await self._timed.named(
                "a job's run ends", journal.finish(claim.lane, claim.run, failed)
            )
            await jobs.settle([key])
        position: OpenTime | None = None
        while True:
            _, position = await jobs.sweep(position)
            if position is None:
                break

    async def _released(self) -> None:
        after: Address | None = None
        while True:
            _, after = await self._jobs.release(after)
            if after is None:
                break

    async def background(self, number: int) -> None:
        """Background runs."""
        timed, chat = self._timed, self._chat(number)
        parent = Parent(
            session_key=key_of(chat),
            run_id="",
            address=Address(CHANNEL, str(chat)),
            sender_id=str(chat),
            role=Role.OWNER,
        )
        request = TaskRequest(
            type="sleep", title="Sleep", input={}, key=f"sleep {number}", parent=parent
        )
        task = NewTask(request=request, text=TEXT, options=_TERMS, report="post", seconds=60.0)
        run_id = await self._tasks.create(task)
        await timed.named("tasks: overdue", self._tasks.overdue())
        await timed.named("tasks: children", self._records.children(key_of(chat), None))
        await self._records.cancel(run_id, Ending(state=RunState.ABORTED), "owner")

    async def memory(self, number: int) -> None:
        """Memories."""
        timed, memories = self._timed, self._memories
        draft = Draft(
            scope=OWNER,
            text=f"Something new {number}",
            digest=f"new {number}".encode(),
            terms=f"something new {number}",
            state="active",
            kind="note",
            provenance=Provenance(),
        )
        await timed.named("memory save", memories.save(draft))
        found = await timed.named("memory find", memories.find(OWNER, ["garden", "dog"], 20))
        await timed.named("memory get", memories.get(OWNER, [(one, 1.0) for one in found]))
        await timed.named("memory list", memories.listed(scopes=None, state="", limit=50))

    async def importing(self) -> None:
        """The files of a workspace that was somebody's for years are read for the first time."""
        lines = tuple(map(_line, range(self._size.memories)))
        for batch in FileChanges(lines=lines).batches():
            await self._timed.named("memory import", self._memories.follow(OWNER, batch))

    async def erasing(self) -> None:
        """What removes for good; most of all of the chat with a tenth of all messages."""
        timed, eraser = self._timed, self._eraser
        busiest = key_of(self._size.busiest)
        before = dict(timed.longest)
        await eraser.erase(key_of(3), 1, "owner")  # statements are compiled
        await eraser.delete(key_of(3))
        timed.longest = before
        await timed.named("erase", eraser.erase(busiest, 1, "owner"))
        await timed.named("delete", eraser.delete(key_of(2)))
        await timed.named("delete the busiest", eraser.delete(busiest))


def _line(number: int) -> MemoryLine:
    words = " ".join(f"word{number * factor % 7_919}" for factor in range(3, 12))
    text = f"Imported {number}: {words}"
    digest = hashlib.sha256(text.encode()).digest()
    return MemoryLine(text=text, digest=digest, terms=text.lower(), file="MEMORY.md", kind="note")
