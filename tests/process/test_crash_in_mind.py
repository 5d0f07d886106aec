"""kill -9 at what a run does besides acting: nothing is lost, made twice or paid for twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from nanobot.messages import Origin
from nanobot.session import entries
from nanobot.session.entries import (
    RecallEntry,
    RememberEntry,
    ReplyEntry,
    SummaryEntry,
    ToolResultEntry,
    TriageEntry,
    UserEntry,
)
from tests.doubles.openai_server import Answer, Body
from tests.process.harness import World, without_repeats

CHAT = "telegram:1"
BOTH = ("before", "after")
NAP = {
    "decision": "run",
    "run": {"type": "sleep", "title": "Nap", "conversation_id": CHAT, "input": {"seconds": 0.05}},
    "confidence": 0.9,
    "reason": "so",
}


def points(*verbs: str, quick: str = "record_result:after") -> list[Any]:
    """Before and after each; all but one are for the long proof."""
    named = [f"{verb}:{when}" for verb in verbs for when in BOTH]
    return [
        pytest.param(point, marks=() if point == quick else pytest.mark.slow) for point in named
    ]


def is_about(body: Body, beginning: str) -> bool:
    return str(body["messages"][0]["content"]).startswith(beginning)


def helping(world: World, beginning: str, answer: str) -> None:
    """The model answers so to calls whose instruction begins like that."""
    world.model.script = lambda body: Answer(answer) if is_about(body, beginning) else None


def helped(world: World, beginning: str) -> int:
    """How often it was asked for that."""
    return sum(is_about(body, beginning) for body in world.model.requests)


TRIAGE = "You decide what an assistant does"
COMPACTION = "You keep the memory of a conversation"
REMEMBERING = "You keep the memory of an assistant"


def of(world: World, kind: type[entries.Body]) -> Sequence[entries.Body]:
    return [body for body in world.entries(CHAT) if isinstance(body, kind)]


def check_spending(world: World, asides: int) -> None:
    """Every call is settled, the sums are of exactly these, and a helper's call whose end is in the
    log was paid for once; others were lost in a crash."""
    amounts = "sum(requests), sum(tokens_in), sum(tokens_out)"
    assert world.rows("SELECT count(*) FROM model_call_costs WHERE state = 'open'") == [(0,)]
    calls = world.rows(f"SELECT {amounts} FROM model_call_costs")
    assert world.rows(f"SELECT {amounts} FROM usage_totals WHERE level = 'all'") == calls
    query = (
        "SELECT count(*) FROM model_call_costs WHERE call = 0 AND state NOT IN ('lost', 'replaced')"
    )
    assert world.rows(query) == [(asides,)]


async def crashed(world: World, point: str) -> None:
    """A process that reaches this point."""
    await (await world.launch(crash_at=point)).died()


# Triage, and the run that it starts


@pytest.mark.parametrize(
    "point", points("start_auxiliary", "record_result", "task_created", "finish:1", "finish:2")
)
async def test_a_triage_is_decided_once_and_starts_one_run(world: World, point: str) -> None:
    world.configure(agent='triage = "decision"\nrecall = "off"')
    helping(world, TRIAGE, json.dumps(NAP))
    world.telegram.say(1, "Have a nap")
    await crashed(world, point)

    gateway = await world.start()
    started, ended = await world.answered(1, 2)
    assert await gateway.stop() == 0
    assert {started.partition("\n")[0], ended.partition("\n")[0]} == {
        "Started: Nap; I will tell you when it is done.",
        "Task completed: Nap",
    }
    assert len(world.texts(1)) == 2
    assert world.rows("SELECT key FROM tasks") == world.rows(
        "SELECT id || ':triage' FROM runs WHERE kind = 'chat'"
    )
    assert len(of(world, TriageEntry)) == 1
    recorded = point not in (
        "start_auxiliary:before",
        "start_auxiliary:after",
        "record_result:before",
    )
    assert helped(world, TRIAGE) == (2 if point == "record_result:before" else 1)
    assert world.rows(
        "SELECT count(*) FROM model_call_costs WHERE state IN ('lost', 'replaced')"
    ) == [(0 if recorded or point == "start_auxiliary:before" else 1,)]
    check_spending(world, 1)
    world.verify()


# Recall


@pytest.mark.parametrize("point", points("record_result", "start_model"))
async def test_what_memory_adds_is_added_once(world: World, point: str) -> None:
    world.workspace.mkdir(parents=True)
    (world.workspace / "MEMORY.md").write_text("- Anna drinks green tea\n")
    world.telegram.say(1, "What does Anna drink?")
    await crashed(world, point)

    gateway = await world.start()
    await world.answered(1)
    assert await gateway.stop() == 0
    (entry,) = of(world, RecallEntry)
    assert isinstance(entry, RecallEntry)
    assert "green tea" in entry.text
    check_spending(world, 0)
    world.verify()


# Compaction


@pytest.mark.parametrize("point", points("start_auxiliary", "record_result"))
async def test_a_summary_is_made_once_and_its_facts_are_kept_once(world: World, point: str) -> None:
    world.configure(agent='max_history = 4\nrecall = "off"')
    summed = {"summary": "They agreed.", "facts": ["Anna drinks green tea"]}
    helping(world, COMPACTION, json.dumps(summed))
    gateway = await world.start()
    for number in range(1, 4):
        world.telegram.say(1, f"say:{number}")
        await world.answered(1, number)
    assert await gateway.stop() == 0
    world.telegram.say(1, "say:4")
    await crashed(world, point)

    gateway = await world.start()
    await world.said(1, "1", "2", "3", "4")
    await world.eventually((world.workspace / "MEMORY.md").exists)
    assert await gateway.stop() == 0
    assert len(of(world, SummaryEntry)) == 1
    assert helped(world, COMPACTION) == (2 if point == "record_result:before" else 1)
    assert (world.workspace / "MEMORY.md").read_text().count("green tea") == 1
    active = "SELECT count(*) FROM memories WHERE text LIKE '%green tea' AND state = 'active'"
    assert world.rows(active) == [(1,)]
    check_spending(world, 1)
    world.verify()


# Remembering


@pytest.mark.parametrize(
    "point", points("remembering", "remember", "remembered", quick="remember:after")
)
async def test_a_piece_of_a_conversation_is_remembered_once(world: World, point: str) -> None:
    helping(world, REMEMBERING, "Anna likes green tea.")
    gateway = await world.start()
    world.telegram.say(1, "say:yes")
    await world.said(1, "yes")
    assert await gateway.stop() == 0
    quiet(world)
    await crashed(world, point)

    gateway = await world.start()
    await world.eventually(lambda: remembered(world))
    # What a call beside no run had reserved when it was cut off counts until the next run.
    world.telegram.say(1, "say:more")
    await world.said(1, "yes", "more")
    assert await gateway.stop() == 0
    (entry,) = of(world, RememberEntry)
    assert isinstance(entry, RememberEntry)
    assert (entry.first, entry.text) == (1, "Anna likes green tea.")
    assert helped(world, REMEMBERING) == (2 if point == "remember:before" else 1)
    kept = "SELECT count(*) FROM memories WHERE text = 'Anna likes green tea.'"
    assert world.rows(kept) == [(1,)]
    check_spending(world, 1)
    world.verify()


def quiet(world: World) -> None:
    """Nothing has happened for long."""
    with closing(world.database()) as connection, connection:
        connection.execute("UPDATE sessions SET updated_at = updated_at - 3600")


def remembered(world: World) -> bool:
    query = "SELECT count(*) FROM sessions WHERE key = ? AND remembered_seq < head_seq - 1"
    return world.rows(query, CHAT) == [(0,)]


# Tasks


@pytest.mark.parametrize(
    "point", points("record_result", "finish:1", "finish:2", "claim:2", "claim:3", "finish:3")
)
async def test_a_subagent_is_started_once_and_reports_once(world: World, point: str) -> None:
    wanted = {"task": "say:far away", "label": "The moon"}
    world.telegram.say(1, f"tool:spawn:{json.dumps(wanted)}\nsay:started")
    await crashed(world, point)

    gateway = await world.start()
    await world.answered(1, 2)
    assert await gateway.stop() == 0
    kept = [entry for entry in of(world, UserEntry) if isinstance(entry, UserEntry)]
    reports = [entry.text for entry in kept if entry.origin is Origin.RUN]
    assert len(reports) == 1
    assert reports[0].endswith("Task completed: The moon\n\nfar away")
    assert world.rows("SELECT count(*) FROM tasks") == [(1,)]
    assert len(of(world, ToolResultEntry)) == 1
    check_spending(world, 0)
    root = world.rows("SELECT id FROM runs WHERE parent IS NULL")
    assert world.rows("SELECT DISTINCT root FROM model_call_costs") == root
    assert world.rows("SELECT DISTINCT person FROM model_call_costs") == [(CHAT,)]
    world.verify()


# What the memory tools keep


@pytest.mark.parametrize(
    "point", points("memory_reserved", "record_result", "memory", "start_model:2", "finish")
)
async def test_a_memory_is_saved_exactly_once(world: World, point: str) -> None:
    world.configure(agent='recall = "off"')
    save = json.dumps({"text": "Anna drinks green tea"})
    world.telegram.say(1, f"tool:memory_save:{save}\nsay:noted")
    await crashed(world, point)

    gateway = await world.start()
    await world.answered(1)
    await world.eventually((world.workspace / "MEMORY.md").exists)
    assert await gateway.stop() == 0
    assert without_repeats(world.texts(1)) == ["noted"]
    (result,) = results(world)
    assert world.rows("SELECT text, state FROM memories") == [("Anna drinks green tea", "active")]
    ((number,),) = world.rows("SELECT id FROM memories")
    assert result == f"remembered [{number}]"
    text = (world.workspace / "MEMORY.md").read_text()
    assert text == "# Memory\n\n- Anna drinks green tea\n"
    world.verify()


@pytest.mark.parametrize("point", points("record_result", "memory:2", "start_model:2", "finish"))
async def test_a_memory_is_forgotten_once_and_for_good(world: World, point: str) -> None:
    world.configure(agent='recall = "off"')
    world.workspace.mkdir(parents=True)
    (world.workspace / "MEMORY.md").write_text("- Anna drinks green tea\n- Bob drinks beer\n")
    world.telegram.say(1, 'tool:memory_forget:{"id": 1}\nsay:gone')
    await crashed(world, point)

    gateway = await world.start()
    await world.answered(1)
    left = [("Bob drinks beer",)]
    await world.eventually(lambda: world.rows("SELECT text FROM memories") == left)
    assert await gateway.stop() == 0
    assert without_repeats(world.texts(1)) == ["gone"]
    assert results(world) == ["forgotten: Anna drinks green tea"]
    assert (world.workspace / "MEMORY.md").read_text() == "- Bob drinks beer\n"
    assert len(of(world, ReplyEntry)) == 2
    world.verify()


def results(world: World) -> list[str]:
    return [
        entry.text for entry in of(world, ToolResultEntry) if isinstance(entry, ToolResultEntry)
    ]
