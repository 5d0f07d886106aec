"""The stages of runs through a whole gateway: what triage decides, what memory is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from nanobot.session.entries import AuxiliaryFailedEntry, ReplyEntry, ToolResultEntry, TriageEntry
from tests.doubles.openai_server import Answer, Body
from tests.process.harness import World, open_world, without_repeats

TRIAGE = "You decide what an assistant does"
DECISIONS = 'triage = "decision"'
STARTED = "Started: Nap; I will tell you when it is done."


def system(body: Body) -> str:
    return str(body["messages"][0]["content"])


def is_triage(body: Body) -> bool:
    return system(body).startswith(TRIAGE)


def deciding(body: Body) -> Answer | None:
    """Decides what the message says behind `decide:`, after the seconds behind `late:`."""
    if not is_triage(body):
        return None
    text = str(body["messages"][-1]["content"]).rpartition("## message")[2]
    lines = dict(line.partition(":")[::2] for line in text.splitlines())
    return Answer(lines.get("decide", "{}"), wait=float(lines.get("late", 0)))


def message(decision: str, **fields: Any) -> str:
    """What a person says, with the decision that is to be made of it."""
    values = {"decision": decision, "confidence": 0.9, "reason": "so", **fields}
    return f"say:acted\ndecide:{json.dumps(values)}"


def nap(chat: int, kind: str = "sleep", **given: Any) -> dict[str, Any]:
    wanted = given or {"seconds": 0, "message": "Good morning."}
    return {"type": kind, "title": "Nap", "conversation_id": f"telegram:{chat}", "input": wanted}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def triaged(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A gateway with triage, for every test of this module that needs no other."""
    async with open_world(tmp_path_factory.mktemp("triaged")) as opened:
        opened.model.script = deciding
        more = '[agent.decision]\ntimeout_seconds = 1.0\nallowed_run_types = ["sleep", '
        opened.configure(agent=DECISIONS, more=f'{more}"summarize_conversation"]')
        gateway = await opened.start()
        yield opened
        assert await gateway.stop() == 0
        opened.verify()


module = pytest.mark.asyncio(loop_scope="module")


@module
async def test_a_reply_is_all_there_is(triaged: World, chat: int) -> None:
    before = len(triaged.model.requests)
    triaged.telegram.say(chat, message("reply", reply={"content": "It is noon."}))
    await triaged.said(chat, "It is noon.")
    assert len(triaged.model.requests) == before + 1


@module
async def test_a_run_is_started_and_its_end_told(triaged: World, chat: int) -> None:
    triaged.telegram.say(chat, message("run", run=nap(chat)))
    texts = sorted(await triaged.answered(chat, 2))
    assert texts == [STARTED, "Task completed: Nap\n\nGood morning."]


@module
async def test_a_reply_and_a_run_come_both(triaged: World, chat: int) -> None:
    both = message("reply_and_run", reply={"content": "At once."}, run=nap(chat))
    triaged.telegram.say(chat, both)
    texts = sorted(await triaged.answered(chat, 2))
    assert texts == ["At once.", "Task completed: Nap\n\nGood morning."]


@module
async def test_a_failed_run_is_told_by_its_template(triaged: World, chat: int) -> None:
    gone = nap(chat, "summarize_conversation", session_key="telegram:9999")
    triaged.telegram.say(chat, message("run", run=gone))
    texts = sorted(await triaged.answered(chat, 2))
    assert texts[0] == STARTED
    assert texts[1] == "Task failed: Nap\n\nthere is nothing to sum up in telegram:9999"


@module
async def test_a_cancelled_run_is_told_by_its_template_and_can_be_asked_for_again(
    triaged: World, chat: int
) -> None:
    triaged.telegram.say(chat, message("run", run=nap(chat, seconds=600)))
    await triaged.said(chat, STARTED)
    listed = await triaged.run("runs", "list", "--kind", "task", "--state", "live", "--json")
    (run,) = [r for r in json.loads(listed.output) if r["parent_session"] == f"telegram:{chat}"]
    assert (run["type"], run["title"], run["state"]) == ("sleep", "Nap", "queued")
    shown = await triaged.run("runs", "show", run["id"])
    assert "Wait 600 seconds." in shown.output
    assert (await triaged.run("runs", "cancel", run["id"])).code == 0
    await triaged.said(chat, STARTED, "Task cancelled: Nap")
    assert (await triaged.run("runs", "cancel", run["id"])).code == 1
    again = await triaged.run("runs", "retry", run["id"], "--json")
    assert again.code == 0
    second = json.loads(again.output)["id"]
    assert second != run["id"]
    assert (await triaged.run("runs", "cancel", second)).code == 0
    assert len(await triaged.answered(chat, 3)) == 3


@module
@pytest.mark.parametrize(
    "words",
    [
        message("run", run=nap(0, "dance")),
        message("run", run=nap(0, "agent", task="it is not allowed here")),
        message("run", run=nap(77)),
        message("reply"),
        message("dance", reply={"content": "x"}),
        "say:acted\ndecide:I would reply.",
        'say:acted\ndecide:{"decision": "reply", "reply"',
        "late:30\n" + message("reply", reply={"content": "too late"}),
        "say:acted\ndecide:{}",
    ],
)
async def test_what_is_no_decision_acts_and_starts_nothing(
    triaged: World, chat: int, words: str
) -> None:
    triaged.telegram.say(chat, words.replace("telegram:0", f"telegram:{chat}"))
    await triaged.said(chat, "acted")


@module
async def test_the_same_said_twice_in_a_moment_and_delivered_twice_is_one_run(
    triaged: World, chat: int
) -> None:
    text = message("run", run=nap(chat, seconds=600))
    triaged.telegram.say(chat, text)
    triaged.telegram.say(chat, text)
    await triaged.answered(chat)
    listed = await triaged.run("runs", "list", "--kind", "task", "--state", "live", "--json")
    mine = [r for r in json.loads(listed.output) if r["parent_session"] == f"telegram:{chat}"]
    assert len(mine) == 1
    await triaged.run("runs", "cancel", mine[0]["id"])


async def test_without_a_conversation_an_unread_one_is_opened(world: World) -> None:
    world.model.script = deciding
    world.configure(agent=DECISIONS)
    gateway = await world.start()
    world.telegram.say(1, message("run", run=nap(1) | {"conversation_id": None}))
    await world.said(1, STARTED)
    unread: list[dict[str, Any]] = []
    while not any(session["title"] == "Task completed: Nap" for session in unread):
        listed = await world.run("sessions", "list", "--unread", "--json")
        unread = json.loads(listed.output)
    (key,) = [session["key"] for session in unread if session["title"] == "Task completed: Nap"]
    assert key.startswith("task:")
    assert "Good morning." in (await world.run("sessions", "show", key)).output
    assert await gateway.stop() == 0
    assert world.texts(1) == [STARTED]


async def test_a_kill_after_a_run_ended_tells_its_end_once(world: World) -> None:
    world.model.script = deciding
    world.configure(agent=DECISIONS)
    gateway = await world.launch(crash_at="finish:2:after")
    await gateway.ready()
    world.telegram.say(1, message("run", run=nap(1)))
    await gateway.died()
    gateway = await world.start()
    await world.eventually(lambda: len(set(without_repeats(world.texts(1)))) == 2)
    assert await gateway.stop() == 0
    texts = sorted(without_repeats(world.texts(1)))
    assert texts == [STARTED, "Task completed: Nap\n\nGood morning."]
    assert world.rows("SELECT count(*) FROM tasks") == [(1,)]
    assert len([b for b in world.entries("telegram:1") if isinstance(b, TriageEntry)]) == 1
    world.verify()


async def test_reply_only_apologises_and_the_environment_names_the_model(world: World) -> None:
    world.model.script = deciding
    world.model.models.append("decider")
    world.configure(agent=DECISIONS)
    gateway = await world.start(
        NANOBOT_AGENT__DECISION__MODEL="test/decider",
        NANOBOT_AGENT__DECISION__FALLBACK_MODE="reply-only",
        NANOBOT_AGENT__DECISION__ALLOWED_RUN_TYPES="sleep",
    )
    world.telegram.say(1, "say:acted\ndecide:nonsense")
    (text,) = await world.answered(1)
    assert text.startswith("Sorry, I could not work out what to do with this.")
    world.telegram.say(1, message("run", run=nap(1, "agent", task="x")))
    assert "cannot start a task of the type agent" in (await world.answered(1, 2))[1]
    assert {body["model"] for body in world.model.requests} == {"decider"}
    assert await gateway.stop() == 0
    notes = [b.text for b in world.entries("telegram:1") if isinstance(b, AuxiliaryFailedEntry)]
    assert any("not a decision" in text for text in notes)
    world.verify()


# Memory


async def test_a_model_that_keeps_asking_memory_is_answered_so_often_and_then_answers(
    world: World,
) -> None:
    def script(body: Body) -> Answer | None:
        results = [entry for entry in body["messages"] if entry["role"] == "tool"]
        if results and "Asking is over" in str(results[-1]["content"]):
            return Answer("Green tea, I think.")
        return Answer(tool_calls=[("need_information", json.dumps({"query": "which tea?"}))])

    world.configure(agent='recall = "ask"\nmax_cognition_rounds = 2')
    write(world.workspace / "MEMORY.md", "- Ann drinks green tea.\n")
    world.model.script = script
    gateway = await world.start()
    world.telegram.say(1, "Which tea do I drink?")
    await world.said(1, "Green tea, I think.")
    assert await gateway.stop() == 0
    results = [b.text for b in world.entries("telegram:1") if isinstance(b, ToolResultEntry)]
    assert len(results) == 3
    assert all("Ann drinks green tea." in text for text in results[:2])
    assert "Asking is over" in results[2]
    assert len([b for b in world.entries("telegram:1") if isinstance(b, ReplyEntry)]) == 4
    world.verify()


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def test_each_is_shown_what_is_curated_for_them(world: World) -> None:
    prompts: dict[str, str] = {}

    def script(body: Body) -> None:
        prompts[str(body["messages"][-1]["content"]).rpartition("\n")[2]] = system(body)

    files = {
        "MEMORY.md": "- The safe is behind the picture.",
        "memory/people/telegram/101/MEMORY.md": "- Bob likes stamps.",
    }
    for name, text in files.items():
        write(world.workspace / name, text)
    world.model.script = script
    gateway = await world.start()
    for chat in (1, 101, 102):
        world.telegram.say(chat, f"hello {chat}")
        await world.answered(chat)
    known = ("behind the picture", "Bob likes stamps")
    assert [tuple(memory in prompts[f"hello {c}"] for memory in known) for c in (1, 101, 102)] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    ended = await world.run("context", "show", "telegram:101")
    assert "memory/people/telegram/101/MEMORY.md" in ended.output
    await world.rests(gateway)
