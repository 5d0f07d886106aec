"""kill -9 right before and right after every verb that a conversation reaches."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.session.entries import ModelCallEntry, ReplyEntry, ToolResultEntry, UserEntry
from tests.doubles.openai_server import Body
from tests.process.harness import PATIENCE, STEERED, World, without_repeats
from tests.store.crash_points import VERBS as OF_JOURNAL

VERBS = (*OF_JOURNAL, "answer")
# Nothing in this version posts unasked; giving a run back needs an order to stop. What a run does
# besides acting, groups that move and long commands have tests of their own.
ELSEWHERE = {
    "post",
    "release",
    "move_chat",
    "start_auxiliary",
    "start_retry",
    "performed",
}
REACHED = [verb for verb in VERBS if verb not in ELSEWHERE]

QUICK = {
    "admit:after",
    "start_model:after",
    "record_result:before",
    "park:after",
    "finish:before",
    "finish:after",
    "begin_send:after",
}

PLAIN, TOOLS, ORDER, STEER, TROUBLE, BLOCKED, FILE, ASK = 1, 2, 3, 4, 5, 6, 7, 8
ASKING = f"""
[[policy.rules]]
tool = "exec"
chats = ["{ASK}"]
verdict = "ask"
"""
APPEND = json.dumps({"command": "echo x >> effects"})
APPROVED = json.dumps({"command": "echo x >> approved"})


def talk(world: World) -> None:
    """What people say: nobody waits for an answer, and all of it waits for the start."""
    world.telegram.say(PLAIN, "say:plain")
    world.telegram.say(TOOLS, f"tool:list_dir:{{}}\ntool:exec:{APPEND}\nsay:tools")
    world.telegram.say(ASK, f"tool:exec:{APPROVED}\nsay:so be it")
    world.telegram.say(ORDER, "say:first")
    world.telegram.say(ORDER, "/new")
    world.telegram.say(ORDER, "say:second")
    world.telegram.say(STEER, "wait:0.2\ntool:list_dir:{}\nsay:slow")
    world.telegram.say(TROUBLE, "say:late")
    world.telegram.fail("sendMessage", chat=TROUBLE, status=502, times=1)
    world.telegram.say(BLOCKED, "say:nobody hears this")
    world.telegram.block(BLOCKED)
    paper = {"file_id": world.telegram.extras.put_file(b"a page"), "file_name": "page.txt"}
    world.telegram.say(FILE, caption="say:read", document=paper | {"file_unique_id": "u"})


def steer(world: World) -> None:
    """Let more be said in a chat while the model works on its first message."""
    pushed: list[dict[str, Any]] = []

    def script(body: Body) -> None:
        if not pushed and "say:slow" in body["messages"][-1]["content"]:
            pushed.append(world.telegram.say(STEER, "say:more"))

    world.model.script = script


async def approve(world: World) -> None:
    """Press the button, once it is there."""
    await world.telegram.until(lambda: bool(world.texts(ASK)), PATIENCE)
    world.telegram.press(world.telegram.messages(ASK)[0], "Approve")


def check(world: World) -> None:
    """Nothing lost, nothing done twice, and a message twice only where it says so itself."""
    texts = {
        chat: without_repeats(world.texts(chat)) for chat in (PLAIN, TOOLS, TROUBLE, BLOCKED, FILE)
    }
    assert texts == {
        PLAIN: ["plain"],
        TOOLS: ["tools"],
        TROUBLE: ["late"],
        BLOCKED: [],
        FILE: ["read"],
    }
    order = without_repeats(world.texts(ORDER))
    assert [text.partition(".")[0] for text in order] == ["first", "New conversation", "second"]
    assert without_repeats(world.texts(STEER)) in (
        [f"more\n\n{STEERED}"],
        ["more"],
        ["slow", "more"],
    )
    question, *others = world.texts(ASK)
    if others[0].startswith(
        question
    ):  # of the two questions the gateway knows where this one stands
        assert others[0].endswith(REPEAT_LINE)
        others = others[1:]
    decided, answer = without_repeats(others)
    assert question.startswith("May I do this? (#1)")
    assert decided.startswith("Approved: exec (#1)") or "was already approved" in decided
    assert answer == "so be it"
    dead = world.rows("SELECT chat_id, state FROM outbound WHERE state != 'sent'")
    assert dead == [(str(BLOCKED), "dead")]
    world.verify()


def check_effects(world: World) -> None:
    """The command ran once; never if the log says that its outcome is unknown, and never twice."""
    for name, chat in (("effects", TOOLS), ("approved", ASK)):
        file = world.workspace / name
        done = file.read_text().count("x") if file.exists() else 0
        results = [b for b in world.entries(f"telegram:{chat}") if isinstance(b, ToolResultEntry)]
        (text,) = [result.text for result in results if result.name == "exec"]
        assert done <= 1
        assert done == 1 or "outcome unknown" in text


def check_files(world: World) -> None:
    """A file is in the workspace once, however often it was fetched. Killed while it is written, a
    process leaves a temporary file behind, which has a name that nobody takes for another."""
    (message,) = [b for b in world.entries(f"telegram:{FILE}") if isinstance(b, UserEntry)]
    (file,) = message.attachments
    whole = (world.workspace / "received").rglob("[!.]*")
    files = [path for path in whole if path.is_file()]
    assert files == [world.workspace / file.path]
    assert files[0].read_bytes() == b"a page"


def check_calls(world: World) -> None:
    """The model was asked again only where the answer had not been recorded."""
    for chat in (PLAIN, TOOLS, TROUBLE):
        log = world.entries(f"telegram:{chat}")
        calls = sum(isinstance(body, ModelCallEntry) for body in log)
        replies = sum(isinstance(body, ReplyEntry) for body in log)
        assert replies == (2 if chat == TOOLS else 1)
        assert calls - replies <= 1


def check_spending(world: World) -> None:
    """Every call is settled, and the sums are of exactly these."""
    amounts = "sum(requests), sum(tokens_in), sum(tokens_out)"
    assert world.rows("SELECT count(*) FROM model_call_costs WHERE state = 'open'") == [(0,)]
    calls = world.rows(f"SELECT count(*), {amounts} FROM model_call_costs")[0]
    assert world.rows(f"SELECT {amounts} FROM usage_totals WHERE level = 'all'")[0] == calls[1:]
    logged = world.rows("SELECT count(*) FROM entries WHERE kind = 'model_call'")
    assert logged == [(calls[0],)]


async def crash_and_go_on(world: World, point: str, *, surely: bool) -> None:
    """Crash there, start again, and look at everything. Not every verb comes a second time."""
    world.configure(more=ASKING)
    talk(world)
    steer(world)
    crashing = await world.launch(crash_at=point)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(approve(world))
        if surely:
            await crashing.died()
        else:
            await world.eventually(lambda: not crashing.running or all_said(world))
            await crashing.kill()
        gateway = await world.start()
    await world.telegram.until(lambda: all_said(world), PATIENCE)
    await world.telegram.until(lambda: not world.telegram.pending)
    assert await gateway.stop() == 0

    check(world)
    check_effects(world)
    check_files(world)
    check_calls(world)
    check_spending(world)


def all_said(world: World) -> bool:
    counts = {PLAIN: 1, TOOLS: 1, ORDER: 3, TROUBLE: 1, FILE: 1, ASK: 3}
    steered = any("more" in text for text in world.texts(STEER))
    return steered and all(len(world.texts(chat)) >= count for chat, count in counts.items())


def points() -> list[Any]:
    named = [f"{verb}:{when}" for verb in REACHED for when in ("before", "after")]
    assert set(named) >= QUICK
    slow = pytest.mark.slow
    return [pytest.param(point, marks=() if point in QUICK else slow) for point in named]


@pytest.mark.parametrize("point", points())
async def test_a_crash_at_any_verb_loses_nothing_and_repeats_nothing(
    world: World, point: str
) -> None:
    """One in four is among the quick tests, and `make prove` has them all."""
    await crash_and_go_on(world, point, surely=True)


@pytest.mark.slow
@pytest.mark.parametrize("nth", [2, 3, 4])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verb", REACHED)
async def test_nor_does_a_crash_at_a_later_time(
    world: World, verb: str, when: str, nth: int
) -> None:
    await crash_and_go_on(world, f"{verb}:{nth}:{when}", surely=False)
