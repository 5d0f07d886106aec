"""A fork continues a run from one of its entries, and nothing else changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.labels import Privacy, Speaker, read
from nanobot.messages import Address, Role
from nanobot.operations.operation import Caller
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.store.database import schema
from nanobot.store.opening import Store
from tests.doubles.openai_server import Answer, Body, OpenAIServer
from tests.plugins.fork.home import SESSION, WORLD, ForkHome, said, told
from tests.stored import log_of


def notes(body: Body) -> Answer:
    """`good` reads a file and answers; `bad` answers without reading."""
    results = told(body)
    if body["model"].endswith("bad"):
        return Answer("No idea.")
    if not results:
        return Answer(tool_calls=[("read_file", '{"path": "notes.md"}')])
    return Answer(f"It says: {results[-1]}")


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer(notes) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: OpenAIServer) -> ForkHome:
    home = ForkHome(tmp_path / "home", server)
    (home.workspace / "notes.md").write_text("buy milk", encoding="utf-8")
    return home


async def test_a_fork_with_another_model_answers_in_a_session_of_its_own(home: ForkHome) -> None:
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        fork = await serving.fork(run, model="fake/bad")
        heads = await serving.call("audit verify")
        proof = await serving.call("audit verify", head=fork.head)

    assert fork.comparison is not None
    assert fork.session_key == f"fork:{fork.run}"
    assert fork.comparison.a.answer.startswith("It says:")
    assert "buy milk" in fork.comparison.a.answer
    assert fork.comparison.b.answer == "No idea."
    assert fork.comparison.b.models == ("fake/bad",)
    assert fork.state == "completed"
    assert {log.session_key for log in heads} >= {SESSION, fork.session_key}
    assert proof


async def test_the_same_calls_get_their_recorded_results(home: ForkHome) -> None:
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        (home.workspace / "notes.md").write_text("changed later", encoding="utf-8")
        fork = await serving.fork(run)
        replayed = await serving.call("runs replay", all=True)

    assert fork.comparison is not None
    assert fork.comparison.same_answer
    assert fork.comparison.differences == 0
    assert fork.comparison.b.cost == pytest.approx(fork.comparison.a.cost)
    assert {view.session_key for view in replayed} >= {SESSION, fork.session_key}


WORLDLY = [
    ("write_file", '{"path": "new.md", "content": "from the fork"}'),
    ("exec", '{"command": "cat new.md; echo more >> notes.md; cat notes.md"}'),
    ("message", '{"content": "hello", "channel": "telegram", "chat_id": "7"}'),
    ("cron", '{"action": "add", "schedule": "every 1h", "message": "wake up"}'),
    ("memory_save", '{"text": "The fork was here."}'),
    ("spawn", '{"task": "do it for me"}'),
    ("web_fetch", '{"url": "https://example.org/"}'),
    ("no_such_tool", "{}"),
]


def busy(body: Body) -> Answer:
    """`bad` calls every tool that has an effect, one after another."""
    results = told(body)
    if not body["model"].endswith("bad"):
        return notes(body)
    if len(results) < len(WORLDLY):
        return Answer(tool_calls=[WORLDLY[len(results)]])
    return Answer("\n---\n".join(results))


async def test_nothing_that_a_fork_calls_has_an_effect(
    home: ForkHome, server: OpenAIServer
) -> None:
    server.script = busy
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        before, files = await serving.rows(*WORLD, "entries", "runs"), home.files()
        fork = await serving.fork(run, model="fake/bad")
        after = await serving.rows(*WORLD, "entries", "runs")

    assert fork.comparison is not None
    answers = fork.comparison.b.answer.split("\n---\n")
    assert "Wrote" in answers[0] or "new.md" in answers[0]
    assert "from the fork" in answers[1]
    assert "buy milkmore" in answers[1].replace("\n", "")
    for refused in answers[2:]:
        assert "nothing new may be done here" in refused
    assert (home.files(), after) == (files, before)
    assert (home.folder / "forks" / fork.run / "workspace" / "new.md").exists()


async def test_a_refusing_fork_runs_nothing_even_in_a_copy(
    home: ForkHome, server: OpenAIServer
) -> None:
    server.script = busy
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        fork = await serving.fork(run, model="fake/bad", otherwise="refuse")

    assert fork.comparison is not None
    assert fork.comparison.b.answer.count("nothing new may be done here") == len(WORLDLY)
    assert not (home.folder / "forks").exists()


async def test_a_given_result_takes_the_place_of_the_recorded_one(home: ForkHome) -> None:
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        fork = await serving.fork(run, tool="read_file=buy=bread")

    assert fork.comparison is not None
    assert fork.comparison.b.answer == "It says: buy=bread"
    changed = [pair for pair in fork.comparison.steps if not pair.same]
    assert next(pair.b.name for pair in changed if pair.b is not None) == "read_file"


async def test_what_is_said_in_a_fork_is_answered_there(
    home: ForkHome, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(f"You said: {said(body)}")
    async with home.serving() as serving:
        run = await serving.ask("Hello")
        entries = (await serving.call("runs show", id=run)).entries
        last = entries[-1].seq
        further = await serving.fork(run, at=last, say="And now?")
        instead = await serving.fork(run, at=entries[0].seq - 1, say="Good bye")
        again = await serving.fork(run, at=last)

    assert further.comparison is not None
    assert "And now?" in further.comparison.b.answer
    assert instead.comparison is not None
    assert "Good bye" in instead.comparison.b.answer
    assert again.comparison is not None
    assert again.comparison.same_answer  # the recorded answer: no model is asked
    assert again.comparison.b.cost == 0.0


async def test_another_system_prompt_is_read_from_a_file(
    home: ForkHome, server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda body: Answer(str(body["messages"][0]["content"])[:20])
    (tmp_path / "pirate.md").write_text("You are a pirate.\n", encoding="utf-8")
    async with home.serving() as serving:
        run = await serving.ask("Hello")
        fork = await serving.fork(run, prompt=str(tmp_path / "pirate.md"))
        with pytest.raises(UsageError, match=r"prompt: .*nothing.md cannot be read"):
            await serving.fork(run, prompt=str(tmp_path / "nothing.md"))

    assert fork.comparison is not None
    assert fork.comparison.b.answer == "You are a pirate."


async def test_a_cut_between_a_call_and_its_result_goes_on_with_the_recorded_result(
    home: ForkHome, server: OpenAIServer
) -> None:
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        entries = (await serving.call("runs show", id=run)).entries
        call = next(entry.seq for entry in entries if entry.kind == "reply")
        asked = len(server.requests)
        fork = await serving.fork(run, at=call)

    assert fork.comparison is not None
    assert fork.comparison.differences == 0
    assert len(server.requests) == asked + 1


@pytest.mark.process
async def test_a_fork_of_a_fork_names_its_parent_and_knows_the_results_of_both(
    home: ForkHome,
) -> None:
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        (home.workspace / "notes.md").unlink()
        first = await serving.fork(run, model="fake/bad")
        second = await serving.fork(first.run, model="fake/good")
        chain = await serving.call("audit verify", head=second.head, session=first.session_key)

    assert (second.parent, second.parent_session) == (first.run, first.session_key)
    assert second.comparison is not None
    assert second.comparison.b.answer.startswith("It says:")
    assert "buy milk" in second.comparison.b.answer
    assert chain


async def test_an_unrecorded_call_waits_for_a_person_and_runs_once_approved(
    home: ForkHome, server: OpenAIServer
) -> None:
    def saving(body: Body) -> Answer:
        results = told(body)
        if body["model"].endswith("bad") and not results:
            return Answer(tool_calls=[("memory_save", '{"text": "Kept."}')])
        return Answer(f"Done: {results}")

    server.script = saving
    async with home.serving() as serving:
        run = await serving.ask("Hello")
        before = await serving.rows(*WORLD)
        fork = await serving.fork(run, model="fake/bad", otherwise="ask")
        assert fork.state == "awaiting_human"
        assert await serving.rows(*WORLD) == before
        (asked,) = await serving.call("approvals list")
        await serving.call("approve", id=asked.id)
        compared = await serving.ended(run, fork.run)
        memories = await serving.rows("memories", but="nothing")

    assert asked.session_key == fork.session_key
    assert "Done" in compared.b.answer
    assert "Kept." in str(memories)


async def test_a_repeated_order_makes_one_fork(home: ForkHome) -> None:
    async with home.serving() as serving:
        run = await serving.ask("Hello")
        one, two = await serving.order(run, "k1"), await serving.order(run, "k1")
        other = await serving.order(run, "k2")

    assert one.run == two.run != other.run


async def test_a_chat_does_not_wait_and_owns_no_files_of_the_machine(home: ForkHome) -> None:
    chat = Caller(role=Role.OWNER, session_key=SESSION, by="owner", address=Address("fake", "1"))
    async with home.serving() as serving:
        run = await serving.ask("Hello")
        call = serving.parts.operations.call
        with pytest.raises(UsageError, match="A chat does not wait for a fork"):
            await call("runs fork", {"id": run, "wait": 5.0}, chat)
        with pytest.raises(UsageError, match="does not work in a chat"):
            await call("runs fork", {"id": run, "prompt": "/etc/hosts"}, chat)
        fork = await call("runs fork", {"id": run}, chat)

    assert fork.state == "queued"


async def test_what_cannot_be_forked_is_refused_with_its_reason(
    home: ForkHome, server: OpenAIServer
) -> None:
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        entries = (await serving.call("runs show", id=run)).entries
        with pytest.raises(UnknownId, match="There is no run zzz"):
            await serving.fork("zzz")
        with pytest.raises(UsageError, match=r"at: entry 99 is not one of run .* entries 1 to"):
            await serving.fork(run, at=99)
        with pytest.raises(UsageError, match=r"comes before the first message .* add --say"):
            await serving.fork(run, at=entries[0].seq - 1)
        with pytest.raises(UsageError, match="model: "):
            await serving.fork(run, model="gone/model")
        with pytest.raises(UsageError, match="tool: there is no tool 'wipe'; the run called: read"):
            await serving.fork(run, tool="wipe=x")
        with pytest.raises(UsageError, match="write NAME=RESULT"):
            await serving.fork(run, tool="read_file")
        with pytest.raises(UsageError, match="not both"):
            await serving.fork(run, prompt="a", system="b")
        await serving.parts.operations.of(SqlEraser).erase(SESSION, entries[0].seq, "ann")
        with pytest.raises(NanobotError, match=f"Entry {entries[0].seq} of {SESSION}.* was erased"):
            await serving.fork(run)
        forks = await serving.call("sessions list")

    assert [view.key for view in forks] == [SESSION]


async def test_a_model_that_is_gone_is_named_with_the_remedy(home: ForkHome) -> None:
    async with home.serving() as serving:
        run = await serving.ask("Hello")
    text = (home.folder / "config.toml").read_text(encoding="utf-8").replace("fake", "other")
    (home.folder / "config.toml").write_text(text, encoding="utf-8")
    async with home.serving() as serving:
        with pytest.raises(UsageError, match=r"The model fake/good of run .* name another one"):
            await serving.fork(run)
        fork = await serving.fork(run, model="other/bad")

    assert fork.state == "completed"


async def test_a_copy_has_no_way_out_of_it(home: ForkHome, server: OpenAIServer) -> None:
    (home.folder / "secret.txt").write_text("a key", encoding="utf-8")
    (home.workspace / "out").symlink_to("../secret.txt")
    (home.workspace / "far").symlink_to("/etc/passwd")
    tries = [
        ("read_file", '{"path": "out"}'),
        ("read_file", '{"path": "../../../secret.txt"}'),
        ("exec", '{"command": "cat out far ../../../secret.txt; ls /"}'),
        ("exec", '{"command": "echo hi", "background": true}'),
        ("write_file", '{"path": "out", "content": "changed"}'),
    ]

    def script(body: Body) -> Answer:
        results = told(body)
        if body["model"].endswith("bad") and len(results) < len(tries):
            return Answer(tool_calls=[tries[len(results)]])
        return Answer("\n---\n".join(results) or "Hello.")

    server.script = script
    async with home.serving() as serving:
        run = await serving.ask("Hello")
        fork = await serving.fork(run, model="fake/bad")

    assert fork.comparison is not None
    assert "a key" not in fork.comparison.b.answer
    assert "root:" not in fork.comparison.b.answer
    assert "nothing can run in the background here" in fork.comparison.b.answer
    assert (home.folder / "secret.txt").read_text(encoding="utf-8") == "a key"


async def test_a_workspace_that_is_too_large_is_not_copied(
    home: ForkHome, server: OpenAIServer
) -> None:
    server.script = busy
    with (home.workspace / "huge").open("wb") as huge:
        huge.truncate(600_000_000)
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")
        fork = await serving.fork(run, model="fake/bad")

    assert fork.comparison is not None
    assert "the workspace is too large to copy" in fork.comparison.b.answer
    assert not (home.folder / "forks" / fork.run / "workspace").exists()


async def test_a_fork_charges_the_budget_of_its_parent_and_remembers_nothing(
    home: ForkHome,
) -> None:
    home.configure("\n[budgets]\nrequests_per_day = 3\n")
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?")  # two requests
        fork = await serving.fork(run, tool="read_file=x")
        again = await serving.fork(run, tool="read_file=y")

    assert (fork.state, again.state) == ("failed", "failed")
    assert fork.comparison is not None
    assert "limit" in str(fork.comparison.b.error) or "budget" in str(fork.comparison.b.error)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"otherwise": "maybe"}, "`otherwise` must be one of copy, ask, refuse, not 'maybe'"),
        ({"at": -1}, "`at` must be a whole number from 0, not -1"),
        ({"wait": 101.0}, "`wait` must be a number from 0 to 100"),
        ({"tool": "{"}, "tool: this is no JSON object of texts"),
        ({"tool": "=x"}, "the name of the tool is missing"),
    ],
)
async def test_bad_input_is_named(home: ForkHome, arguments: dict[str, object], why: str) -> None:
    async with home.serving() as serving:
        run = await serving.ask("Hello")
        with pytest.raises(UsageError) as refused:
            await serving.fork(run, **arguments)

    assert why in str(refused.value)


async def test_a_member_who_forks_an_owners_run_has_no_more_rights_than_before(
    home: ForkHome,
) -> None:
    key = "web:~anna"
    async with home.serving() as serving:
        run = await serving.ask("What do the notes say?", key)
        anna = Caller(role=Role.MEMBER, session_key=key, by="anna", address=Address("web", "~anna"))
        order = {"id": run, "say": "Now do what I say. #secret"}
        view = await serving.parts.operations.call("runs fork", order, anna)
        again = await serving.fork(run, say="Now do what I say.")
        records = serving.parts.engine.records
        logs = [
            [e.body or {} for e in await log_of(records).entries(key, after=0, limit=50)]
            for key in (view.session_key, again.session_key)
        ]
        store = serving.parts.plugged.offers.get(Store)
        query = sa.select(schema.runs.c.id, schema.runs.c.role, schema.runs.c.sender_id)
        rows = await store.database.transact(lambda unit: unit.execute(query).all())
    roles = {row.id: (row.role, row.sender_id) for row in rows}
    assert roles[view.run] == ("member", "anna")
    assert roles[again.run] == roles[run] == ("owner", "local")
    anna_said, owner_said = [
        next(body for body in some if str(body.get("text", "")).startswith("Now do"))
        for some in logs
    ]
    assert (anna_said["role"], anna_said["sender_id"]) == ("member", "anna")
    assert owner_said["role"] == "owner"
    label = read(anna_said["label"])
    assert Speaker.MEMBER in label.speakers
    assert label.privacy is Privacy.SECRET
