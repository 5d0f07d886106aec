"""What is erased is in no byte of what the store keeps: searched for in the files themselves."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.messages import Address, Attachment, Choice, RunOptions, Sender
from nanobot.plugins.common.store import (
    command_tables,
    job_tables,
    rule_tables,
    search_tables,
    task_tables,
)
from nanobot.plugins.erasure import tables as erasure_tables
from nanobot.plugins.erasure.store import session_removal
from nanobot.plugins.erasure.store.writing_back import write_back
from nanobot.plugins.maintenance.store import maintenance
from nanobot.providers.base import ToolCall
from nanobot.session.entries import ReplyEntry, UndeliveredEntry, UserEntry
from nanobot.store.database import schema
from nanobot.store.unit import StoreContext, Unit
from nanobot.workspace.blobs import Blobs
from tests.sampling import few
from tests.store.home import Home
from tests.store.making import (
    ANN,
    KEY,
    admit,
    answered,
    approval,
    begun,
    claim,
    following,
    said,
    told,
)

IDENTITIES = {
    "approval_rules": "session_key tool by label",
    "approvals": "session_key run_id state",
    "archived_logs": "session_key",
    "background_commands": "session_key channel chat_id thread_id sender_id role owner",
    "log_words": "session_key",
    "session_marks": "session_key title_by",
    "entries": "session_key run_id kind digest hash salt",
    "indexed_logs": "session_key",
    "inbound": "session_key channel chat_id dedupe_key sender_id role origin state run_id account",
    "model_call_costs": "run_id root session_key day person chat job model state",
    "occurrences": "session_key status call_key",
    "outbound": "key session_key run_id channel chat_id state",
    "outbound_parts": "key state receipt",
    "prompt_uses": "session_key digest",
    "quarantine": "session_key of_table of_column state",
    "prompts": "digest",
    "voice_answers": "key run_id",
    "runs": "id session_key kind state parent parent_session origin channel chat_id thread_id "
    "sender_id role reply_to usage",
    "sessions": "key model head_hash prompt prompt_variant owner",
    "tasks": "run_id key type report",
}
"""Columns that hold what somebody or something is called, or how it stands, and nothing said."""

NOTHING_SAID = {
    "budget_warnings",
    "channel_accounts",
    "channel_leases",
    "channels",
    "erasures",
    "jobs",
    "mcp_tools",
    "memories",
    "memory_vectors",
    "meta",
    "moved_chats",
    "notifications",
    "pairings",
    "access_tokens",
    "push_subscriptions",
    "push_keys",
    "tainted_files",
    "trigger_state",
    "unreachable_chats",
    "usage_changes",
    "usage_totals",
}
"""Tables that hold nothing of a conversation, or what outlives it: jobs and memories."""


class Planted:
    """Words that stand nowhere else, by the column that they were put into."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self._random = random.Random(1)

    def __call__(self, where: str) -> str:
        word = f"{self._random.getrandbits(64):016x}"
        self.words[f"{where} #{len(self.words)}"] = word
        return word

    def left(self, folder: Path) -> set[str]:
        """Where those were put of which a half stands in some file: a page may end in any."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        stored = b"".join(path.read_bytes() for path in files)
        return {
            where
            for where, word in self.words.items()
            if word[:8].encode() in stored or word[8:].encode() in stored
        }


def columns_with_text() -> set[str]:
    """Every column of text or bytes that a conversation can reach."""
    return {
        f"{table.name}.{column.name}"
        for table in schema.metadata().sorted_tables
        if table.name not in NOTHING_SAID
        for column in table.columns
        if isinstance(column.type, sa.Text | sa.LargeBinary)
        and column.name not in IDENTITIES.get(table.name, "").split()
    }


def spoken(word: Planted, blob: str) -> Any:
    """A message with all that a message can bring."""
    return msgspec.structs.replace(
        said(word("inbound.body text"), key="first"),
        sender=Sender(ANN, word("inbound.body name")),
        quote=word("inbound.body quote"),
        attachments=(Attachment("image", blob=blob, name=word("inbound.body file")),),
        options=RunOptions(
            extra_instructions=word("inbound.body told"),
            system_prompt=word("inbound.body prompt"),
            input=word("inbound.body input"),
            history=(("user", word("inbound.body history")),),
        ),
    )


def rows(word: Planted) -> list[tuple[sa.Table, dict[str, Any]]]:
    """Rows of the conversation in the tables that its verbs do not fill here."""
    question = msgspec.structs.replace(
        approval(), arguments=word("approvals.body arguments"), why=word("approvals.body why")
    )
    answer = msgspec.structs.replace(
        told(word("outbound.body"), "r1:0"), choices=(Choice(word("outbound.body choice"), "/x"),)
    )
    file = Attachment("image", name=word("outbound_parts.file"))
    here: dict[str, Any] = {"session_key": KEY, "channel": "c", "chat_id": "7"}
    task: dict[str, Any] = {"run_id": "t1", "key": "t1", "type": "agent", "report": "post"}
    child: dict[str, Any] = {**here, "session_key": "task:t1", "sender_id": ANN, "role": "owner"}
    child |= {"first_seq": 1, "attempts": 1, "progress": 0, "created_at": 0.0, "origin": "run"}
    return [
        (
            schema.approvals,
            {
                "session_key": KEY,
                "run_id": "r1",
                "state": "denied",
                "body": msgspec.json.encode(question),
            },
        ),
        (
            schema.outbound,
            {
                **here,
                "id": 900,
                "key": "r1:0",
                "run_id": "r1",
                "body": msgspec.json.encode(answer),
                "state": "sent",
                "error": word("outbound.error"),
                "created_at": 0.0,
            },
        ),
        (
            schema.outbound_parts,
            {
                "outbound_id": 900,
                "idx": 0,
                "text": word("outbound_parts.text"),
                "payload": word("outbound_parts.payload").encode(),
                "key": "p",
                "state": "sent",
                "file": msgspec.json.encode(file),
            },
        ),
        (
            rule_tables.approval_rules,
            {
                "session_key": KEY,
                "tool": "exec",
                "subject": word("approval_rules.subject"),
                "tainted": False,
                "by": ANN,
                "created_at": 0.0,
                "label": "o1",
            },
        ),
        (
            command_tables.background_commands,
            {
                **here,
                "sender_id": ANN,
                "role": "owner",
                "command": word("background_commands.command"),
                "owner": "us",
                "seen_at": 0.0,
            },
        ),
        (erasure_tables.archived_logs, {"session_key": KEY, "last": 0}),
        (
            schema.quarantine,
            {
                "of_table": "approvals",
                "row_key": word("quarantine.row_key"),
                "session_key": KEY,
                "of_column": "body",
                "reason": word("quarantine.reason"),
                "content": word("quarantine.content").encode(),
                "state": "moved",
                "at": 0.0,
            },
        ),
        (
            search_tables.log_words,
            {"id": 1, "session_key": KEY, "seq": 1, "terms": word("log_words.terms")},
        ),
        (schema.prompts, {"digest": "d1", "body": word("prompts.body").encode()}),
        (schema.prompt_uses, {"session_key": KEY, "digest": "d1"}),
        (
            job_tables.occurrences,
            {
                "job_id": 1,
                "scheduled_at": 1.0,
                "status": "done",
                "session_key": KEY,
                "error": word("occurrences.error"),
                "fired_at": 1.0,
                "body": msgspec.json.encode(word("occurrences.body")),
            },
        ),
        (
            schema.sessions,
            {
                "key": "task:t1",
                "title": word("sessions.title"),
                "created_at": 0.0,
                "updated_at": 0.0,
                "head_hash": b"",
            },
        ),
        (
            schema.entries,
            {
                "session_key": "task:t1",
                "seq": 1,
                "run_id": "t1",
                "kind": "user",
                "at": 0.0,
                "payload": word("entries.payload of a background run").encode(),
                "digest": b"",
                "hash": b"",
            },
        ),
        (
            schema.runs,
            {**child, "id": "t1", "kind": "task", "state": "completed", "parent_session": KEY},
        ),
        (
            task_tables.tasks,
            {
                **task,
                "title": word("tasks.title"),
                "input": word("tasks.input").encode(),
                "depth": 1,
                "tainted": False,
                "not_before": 0.0,
            },
        ),
    ]


async def plant(home: Home, blobs: Blobs, word: Planted) -> None:
    """A conversation that says something in every column there is."""
    journal = home.journal()
    blob = await blobs.write(word("blob").encode())
    await admit(journal, spoken(word, blob))
    claimed = await claim(journal, "r1")
    call = ToolCall("c", "exec", word("entries.payload call"))
    reply = ReplyEntry(call=1, text=word("entries.payload"), tool_calls=(call,))
    await journal.record_result(claimed.lane, claimed.run, [reply])
    await answered(journal, claimed)

    def insert(connection: sa.Connection) -> None:
        failed = sa.update(schema.runs).where(schema.runs.c.id == "r1")
        connection.execute(failed.values(error=word("runs.error")))
        for table, values in rows(word):
            connection.execute(sa.insert(table).values(**values))

    await home.do(insert)
    await home.indexing().index()


async def test_of_a_deleted_session_nothing_that_was_said_is_in_any_file(
    new_home: Home, tmp_path: Path
) -> None:
    word, blobs = Planted(), Blobs(tmp_path / "blobs")
    await plant(new_home, blobs, word)
    assert {table.name for table in schema.metadata().sorted_tables} == NOTHING_SAID | {*IDENTITIES}
    planted = {where.split()[0] for where in word.words} - {"blob"}
    assert planted == columns_with_text(), "plant something in a new column, and erase it"
    assert word.left(tmp_path) == set(word.words)
    await new_home.eraser(blobs).delete(KEY)
    assert word.left(tmp_path) == set()
    archived = sa.select(erasure_tables.archived_logs.c.session_key)
    assert await new_home.do(lambda connection: connection.scalars(archived).all()) == []
    (again,) = await admit(new_home.journal(), said("again", key="first"))
    assert not again.fresh


async def test_of_an_erased_message_no_copy_and_no_quote_is_in_any_file(
    new_home: Home, tmp_path: Path
) -> None:
    word, blobs = Planted(), Blobs(tmp_path / "blobs")
    journal, secret = new_home.journal(), word("message")
    blob = await blobs.write(word("blob").encode())
    message = msgspec.structs.replace(
        said(secret, key="first"), attachments=(Attachment("x", blob=blob),)
    )
    await admit(journal, message)
    await answered(journal, await claim(journal, "r1"), "fine")
    for number in range(250):  # more than are looked at at once
        await admit(journal, said(f"{number}"), lane_limit=300)
    quoting = said(word("answer to it"), key="last")
    await admit(
        journal, msgspec.structs.replace(quoting, reply_to="id-first", quote=secret), lane_limit=300
    )
    for number in range(3):  # a hundred at a time
        await answered(journal, await claim(journal, f"s{number}"), "fine")
    await new_home.indexing().index()
    assert await new_home.rows("SELECT * FROM log_words WHERE seq = 1")
    await new_home.eraser(blobs).erase(KEY, 1, "owner")
    assert word.left(tmp_path) == set()
    bodies = await new_home.bodies(KEY)
    texts = [body.text for body in bodies if isinstance(body, UserEntry)]
    assert texts[:2] == ["0", "1"]


async def test_what_was_not_delivered_is_not_left_in_the_note_that_says_so(
    new_home: Home, tmp_path: Path
) -> None:
    word, blobs = Planted(), Blobs(tmp_path / "blobs")
    journal = new_home.journal()
    await answered(journal, await begun(journal, "r1"), word("answer"))
    row = await following(journal)
    await journal.bury(row, "they left", scope="message")
    assert any(isinstance(body, UndeliveredEntry) for body in await new_home.bodies(KEY))
    await new_home.eraser(blobs).erase(KEY, 2, "owner")
    assert word.left(tmp_path) == set()


@pytest.mark.process
@pytest.mark.parametrize("seed", few(range(3)))
async def test_of_hundreds_of_erased_texts_not_one_can_be_read_after_a_vacuum(
    new_home: Home, tmp_path: Path, seed: int
) -> None:
    """Of all sizes, so that pages are split and merged, and what stays is moved about."""
    word, rng = Planted(), random.Random(seed)
    journal, eraser = new_home.journal(), new_home.eraser(Blobs(tmp_path / "blobs"))
    keys = [f"telegram:{number}" for number in range(8)]
    for number in range(300):
        key = rng.choice(keys)
        address = Address("telegram", key.partition(":")[2])
        text = word(key) + "." * rng.choice((0, 30, 300, 2_000))
        await admit(journal, said(text, address=address, key=f"{number}"), session_key=key)
        claimed = await claim(journal, f"r{number}", key)
        await answered(journal, claimed, word(key), address=address)
        if not number % 50:
            await new_home.indexing().index()
    await new_home.indexing().index()
    for key in keys[:4]:
        await eraser.delete(key)
    await write_back(new_home.database)
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copyfile(tmp_path / "state.db", copy / "state.db")
    maintenance.vacuum(f"sqlite:///{copy / 'state.db'}")
    gone = {where for where in word.words if where.split()[0] in keys[:4]}
    assert word.left(copy) == set(word.words) - gone
    assert await new_home.column("PRAGMA integrity_check") == ["ok"]


async def test_a_deletion_that_a_crash_interrupts_is_finished_at_the_next_start(
    new_home: Home, tmp_path: Path
) -> None:
    word, blobs = Planted(), Blobs(tmp_path / "blobs")
    await plant(new_home, blobs, word)
    context = StoreContext(new_home.clock, new_home.ids, "us")
    with context.held.taking() as hold:
        await new_home.do(lambda c: session_removal.begin_session(Unit(c, context), hold, KEY))
    await new_home.reopen()
    assert word.left(tmp_path)
    await new_home.eraser(blobs).finish()
    assert word.left(tmp_path) == set()
    assert await new_home.rows("SELECT * FROM erasures") == []


async def test_what_is_said_while_a_session_is_deleted_begins_it_anew(new_home: Home) -> None:
    journal = new_home.journal()
    await answered(journal, await begun(journal, "r1"), "hi")
    context = StoreContext(new_home.clock, new_home.ids, "us")
    with context.held.taking() as hold:
        await new_home.do(lambda c: session_removal.begin_session(Unit(c, context), hold, KEY))
    await admit(journal, said("meanwhile"))
    await new_home.eraser().finish()
    claimed = await claim(journal, "r2")
    assert [entry.seq for entry in claimed.entries] == [1]


async def test_a_run_that_began_since_its_removal_stopped_ends_before_its_conversation_is_removed(
    new_home: Home,
) -> None:
    journal, eraser = new_home.journal(), new_home.eraser()
    await answered(journal, await begun(journal, "r1"), "hi")
    context = StoreContext(new_home.clock, new_home.ids, "us")
    with context.held.taking() as hold:
        await new_home.do(lambda c: session_removal.begin_session(Unit(c, context), hold, KEY))
        hold.release()
    later = new_home.journal("them")
    await admit(later, said("meanwhile"))
    claimed = await claim(later, "r2")
    assert await eraser.remove_rows() == {}
    assert "meanwhile" in str(await new_home.bodies(KEY))
    await answered(later, claimed, "hello")
    assert await eraser.remove_rows() == {}
    assert await new_home.entries(KEY) == []
