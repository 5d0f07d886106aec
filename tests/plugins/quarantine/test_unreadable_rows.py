"""A row in quarantine is named by each list that it belongs into: over HTTP, in a chat, in a
terminal and to programs; and owners put it back while the gateway serves.

The cases come from the list of operations: a new list that says which tables it shows is among
them.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from nanobot.messages import Address, InboundMessage, Role, Sender
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.dispatcher import Invocation
from nanobot.operations.operation import Caller, Operation
from nanobot.plugins.common.commands.performing import perform
from nanobot.plugins.http_api.operation_routes import UNREADABLE, path_of
from nanobot.session.states import RunKind
from nanobot.store.database import schema
from nanobot.testing.machine import PATIENCE
from tests.server.housing import House, house
from tests.store.making import admit, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVERY = (*OPERATIONS, *plugin_operations())
LISTS = [(each, table) for each in EVERY for table in each.shows]
KEY = "web:desk"
BY_NAME = {operation.name: operation for operation in EVERY}
IN_NO_LIST = {
    "background_commands",  # the model asks for them
    "budget_warnings",
    "channel_accounts",
    "channel_leases",
    "channels",  # `channels list` shows the configuration
    "erasures",
    "indexed_logs",
    "log_words",
    "memory_vectors",
    "meta",
    "moved_chats",
    "notifications",
    "prompts",
    "push_keys",
    "push_subscriptions",
    "quarantine",
    "trigger_state",
    "unreachable_chats",
}


def plant(home: Path) -> None:
    """A row of each table is in quarantine."""
    with closing(sqlite3.connect(home / "state.db")) as database, database:
        database.executemany(
            "INSERT INTO quarantine"
            " (of_table, row_key, session_key, of_column, reason, content, state, told, at)"
            " VALUES (?, ?, ?, 'a column', 'it is not UTF-8', CAST('[]' AS BLOB), 'moved', 1, 1)",
            [(table, f"the row of {table}", KEY) for table in schema.metadata().tables],
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with house(tmp_path_factory.mktemp("unreadable") / "home") as opened:
        journal = opened.parts.engine.journal
        await admit(journal, said("hello", key="m1"), session_key=KEY)
        plant(opened.home)
        yield opened


def arguments_of(operation: Operation) -> dict[str, Any]:
    return {each.name: KEY for each in operation.parameters if each.session}


async def test_every_table_is_in_a_list_or_known_to_be_in_none() -> None:
    tables = set(schema.metadata().tables)
    assert {table for _, table in LISTS} <= tables
    assert tables - {table for _, table in LISTS} == IN_NO_LIST


async def test_each_list_over_http_counts_it_and_it_is_named(served: House) -> None:
    owner = await served.owner()
    for operation in {each.name: each for each, _ in LISTS}.values():
        async with owner.session.get(
            owner.url + path_of(operation), params=arguments_of(operation), headers=owner.headers
        ) as answer:
            assert answer.status == 200, operation.name
            assert answer.headers[UNREADABLE] == str(len(operation.shows)), operation.name
        _, rows = await owner.get("/api/quarantine/list", of=operation.name)
        assert {row["table"] for row in rows} == set(operation.shows)
        assert all(row["reason"] == "it is not UTF-8" for row in rows)


async def test_each_list_in_a_chat_names_it(served: House) -> None:
    for operation, table in LISTS:
        words = " ".join(f"{name}={value}" for name, value in arguments_of(operation).items())
        admission = await served.parts.operations.admission(operation, asked(words))
        assert admission.answer is not None
        text = admission.answer.text
        assert f"{table} the row of {table}: a column: it is not UTF-8" in text, text
        assert "/quarantine restore" in text


def asked(argument: str) -> Invocation:
    message = InboundMessage(
        address=Address("web", "desk"),
        message_id="1",
        dedupe_key="1",
        sender=Sender("1", "Ann"),
        text="",
        sent_at=0.0,
    )
    return Invocation(message=message, session_key=KEY, role=Role.OWNER, argument=argument)


@pytest.mark.process
async def test_each_list_in_a_terminal_names_it(
    served: House, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"NANOBOT_HOME": str(served.home), "TZ": "UTC"}
    for operation in {each.name: each for each, _ in LISTS}.values():
        arguments = arguments_of(operation)
        await asyncio.to_thread(perform, environ, operation, arguments, json=False)
        text = capsys.readouterr().out
        for table in operation.shows:
            assert f"{table} the row of {table}: a column: it is not UTF-8" in text, text
        assert "nanobot db quarantine restore" in text
        await asyncio.to_thread(perform, environ, operation, arguments, json=True)
        both = capsys.readouterr()
        assert "the row of" not in both.out
        assert f"the row of {operation.shows[0]}" in both.err


async def test_a_list_of_a_program_over_mcp_names_it(served: House) -> None:
    owner = await served.owner()
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "runs_list", "arguments": {}},
    }
    headers = owner.headers | {"Accept": "application/json, text/event-stream"}
    async with owner.session.post(f"{owner.url}/mcp", json=call, headers=headers) as given:
        (line,) = [line for line in (await given.text()).splitlines() if line.startswith("data:")]
    content = json.loads(line.removeprefix("data:"))["result"]["content"]
    texts = [part["text"] for part in content]
    assert len(texts) == 2
    assert "runs the row of runs: a column: it is not UTF-8" in texts[1]


async def test_only_owners_see_what_is_in_quarantine(served: House) -> None:
    member = await served.program("a member", "member")
    for path in ("/api/quarantine/list", "/api/quarantine/show?id=1"):
        status, body = await member.get(path)
        assert (status, body["error"]["code"]) == (403, "not_allowed")
    status, body = await member.post("/api/quarantine/restore", id=1)
    assert (status, body["error"]["code"]) == (403, "not_allowed")
    theirs = Caller(role=Role.MEMBER, session_key="web:theirs", by="2")
    mine = Caller(role=Role.MEMBER, session_key=KEY, by="3")
    runs = BY_NAME["runs list"]
    assert await served.parts.operations.unreadable(runs, theirs, {}) == []
    rows = await served.parts.operations.unreadable(runs, mine, {})
    assert {row.table for row in rows} == {"runs", "tasks"}


async def test_a_list_knows_of_no_other_list(served: House) -> None:
    owner = await served.owner()
    status, body = await owner.get("/api/quarantine/list", of="no such list")
    assert (status, "must be the name of a list" in body["error"]["message"]) == (400, True)
    _, rows = await owner.get("/api/quarantine/list", of="runs")
    assert {row["table"] for row in rows} == {"runs", "tasks"}


async def test_a_message_that_is_put_back_is_answered_at_once(tmp_path: Path) -> None:
    """While the gateway serves; no start is needed."""
    async with house(tmp_path / "home") as own:
        client = await own.owner()
        number = await unreadable_message(own)
        _, (listed,) = await client.get("/api/quarantine/list")
        assert (listed["table"], listed["session"]) == ("inbound", KEY)
        _, shown = await client.get("/api/quarantine/show", id=listed["id"])
        assert shown["content"][0]["columns"]["role"] == "k\\xff"
        status, body = await client.post("/api/quarantine/restore", id=listed["id"])
        assert (status, "still cannot be read: role" in body["error"]["message"]) == (400, True)
        status, body = await client.post(
            "/api/quarantine/restore", id=listed["id"], values="no column"
        )
        assert (status, "COLUMN=VALUE" in body["error"]["message"]) == (400, True)
        status, row = await client.post(
            "/api/quarantine/restore", id=listed["id"], values="role=owner"
        )
        assert (status, row["state"]) == (200, "restored")
        await until(lambda: answered(own, number))


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.02)


async def unreadable_message(own: House) -> int:
    """A message that waits, whose role cannot be read, is in quarantine."""
    message = msgspec.structs.replace(said("hello", key="m1"), address=Address("web", "desk"))
    journal = own.parts.engine.journal
    (kept,) = await admit(journal, message, channel="web", session_key=KEY)
    with closing(sqlite3.connect(own.home / "state.db")) as database, database:
        database.execute("UPDATE inbound SET role = CAST(x'6bff' AS TEXT)")
    own.parts.engine.bus.wake(KEY, RunKind.CHAT)
    await until(lambda: own.parts.operations.call("quarantine list", {}))
    return int(kept.inbound_id)


async def answered(own: House, number: int) -> bool:
    def read() -> bool:
        with closing(sqlite3.connect(own.home / "state.db")) as database:
            query = "SELECT state FROM inbound WHERE id = ?"
            return bool(database.execute(query, (number,)).fetchone() == ("settled",))

    return await asyncio.to_thread(read)
