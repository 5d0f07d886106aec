"""What people see of one gateway that serves them all."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from nanobot.messages import EventKind
from nanobot.plugins.common.control.client import ControlClient
from nanobot.plugins.common.control.protocol import EventLine
from tests.doubles.openai_server import Answer, Body, Fault
from tests.process.harness import LATE_EDIT, PATIENCE, STEERED, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWNER_CHAT, MEMBER_CHAT, STRANGER = 90, 150, 500


@pytest.fixture(autouse=True)
def _fresh(shared: World) -> None:
    shared.model.requests.clear()
    shared.model.script = None


# Busy


async def test_what_is_said_during_a_command_steers_and_one_answer_says_so(
    shared: World, chat: int
) -> None:
    await shared.say_during_a_command(chat, "say:both", "say:first")
    await shared.said(chat, f"both\n\n{STEERED}")


async def test_what_is_said_during_a_plain_answer_waits_for_its_turn(
    shared: World, chat: int
) -> None:
    sent: list[dict[str, Any]] = []

    def script(body: Body) -> None:
        if not sent:
            sent.append(shared.telegram.say(chat, "say:second"))

    shared.model.script = script
    shared.telegram.say(chat, "wait:0.2\nsay:first")
    await shared.said(chat, "first", "second")


async def test_a_hanging_model_call_keeps_no_other_chat_waiting(
    shared: World, chat: int, chats: Iterator[int]
) -> None:
    shared.model.fail_with(Fault(hang=True))
    shared.telegram.say(chat, "say:stuck")
    await shared.asked()
    other = next(chats)
    shared.telegram.say(other, "say:free")
    await shared.said(other, "free")
    shared.telegram.say(chat, "/stop")
    await shared.said(chat, "Stopped.")


async def test_fifty_messages_in_one_chat_are_each_taken_once_and_in_order(
    shared: World, chat: int
) -> None:
    def script(body: Body) -> Answer:
        new: list[str] = []
        for message in body["messages"]:
            new = [] if message["role"] == "assistant" else [*new, message["content"]]
        return Answer(" ".join(text.rpartition("\n")[2] for text in new if "number-" in text))

    shared.model.script = script
    for number in range(50):
        shared.telegram.say(chat, f"number-{number}")
    wanted = [f"number-{number}" for number in range(50)]
    await shared.telegram.until(
        lambda: " ".join(shared.texts(chat)).split()[-1:] == wanted[-1:], PATIENCE
    )
    assert " ".join(shared.texts(chat)).replace(STEERED, "").split() == wanted


# Orders


async def test_stop_in_a_model_call_keeps_what_was_said_and_then_there_is_silence(
    shared: World, chat: int
) -> None:
    words = Answer("half of an answer", chunks=("half ", "of ", "an ", "answer"))
    shared.model.fail_with(Fault(hang_after=3, answer=words))
    client = await ControlClient.connect(shared.home / "control.sock")
    assert client is not None
    await client.attach(f"telegram:{chat}")
    shared.telegram.say(chat, "go")
    heard = ""
    async with asyncio.timeout(PATIENCE):
        async for answer in client.answers():
            if isinstance(answer, EventLine) and answer.event.kind is EventKind.MODEL_DELTA:
                heard += answer.event.payload["text"]
            if heard == "half of ":
                break
    await client.close()
    shared.telegram.say(chat, "/stop")
    await shared.said(chat, "Stopped.")

    shared.telegram.say(chat, "say:and on")
    await shared.said(chat, "Stopped.", "and on")
    replies = [
        m["content"] for m in shared.model.requests[-1]["messages"] if m["role"] == "assistant"
    ]
    assert replies == ["half of [stopped here]"]


async def test_stop_in_a_command_ends_all_its_processes(shared: World, chat: int) -> None:
    seconds = f"300.{chat:03}1"
    command = json.dumps({"command": f"(sleep {seconds} & sleep {seconds}; wait)"})
    shared.telegram.say(chat, f"tool:exec:{command}")
    await shared.eventually(lambda: len(shared.processes("sleep", seconds)) == 2)
    shared.telegram.say(chat, "/stop")
    await shared.said(chat, "Stopped.")
    await shared.eventually(lambda: not shared.processes("sleep", seconds))

    shared.telegram.say(chat, "say:and on")
    await shared.said(chat, "Stopped.", "and on")
    results = [m["content"] for m in shared.model.requests[-1]["messages"] if m["role"] == "tool"]
    assert results == ["interrupted, outcome unknown"]


async def test_stop_drops_what_the_sender_has_waiting_with_one_notice(
    shared: World, chat: int
) -> None:
    shared.model.fail_with(Fault(hang=True))
    shared.telegram.say(chat, "say:one")
    await shared.asked()
    shared.telegram.say(chat, "say:two")
    shared.telegram.say(chat, "/stop")
    stopped = 'Stopped. Dropped: "say:two".'
    await shared.said(chat, stopped)
    shared.telegram.say(chat, "say:three")
    await shared.said(chat, stopped, "three")


async def test_stop_with_nothing_running_says_so(shared: World, chat: int) -> None:
    shared.telegram.say(chat, "/stop")
    (text,) = await shared.answered(chat)
    assert text.startswith("Nothing was running here")


async def test_new_hides_what_was_said_before_from_the_model(shared: World, chat: int) -> None:
    shared.telegram.say(chat, "say:xyzzy")
    await shared.said(chat, "xyzzy")
    shared.telegram.say(chat, "/new")
    text = (await shared.answered(chat, 2))[1]
    assert text.startswith("New conversation.")
    shared.telegram.say(chat, "say:fresh")
    await shared.said(chat, "xyzzy", text, "fresh")
    assert "xyzzy" not in json.dumps(shared.model.requests[-1]["messages"])


async def test_status_is_answered_while_a_run_is_busy(shared: World, chat: int) -> None:
    shared.model.fail_with(Fault(hang=True))
    shared.telegram.say(chat, "say:stuck")
    await shared.asked()
    shared.telegram.say(chat, "/status")
    (text,) = await shared.answered(chat)
    assert "Model: test/scripted" in text
    assert f"Session: telegram:{chat}" in text
    assert "Now: running" in text
    shared.telegram.say(chat, "/stop")
    await shared.said(chat, text, "Stopped.")


async def test_help_lists_every_order(shared: World, chat: int) -> None:
    shared.telegram.say(chat, "/help")
    (text,) = await shared.answered(chat)
    assert all(f"/{name}" in text for name in ("help", "new", "stop", "status", "model"))
    assert shared.model.requests == []


async def test_model_shows_and_changes_the_model_of_this_session_only(
    shared: World, chat: int, chats: Iterator[int]
) -> None:
    shared.telegram.say(chat, "/model")
    (shown,) = await shared.answered(chat)
    assert shown.startswith("This session uses test/scripted.")
    shared.telegram.say(chat, "/model test/other force=yes")
    changed = (await shared.answered(chat, 2))[1]
    shared.telegram.say(chat, "say:other")
    await shared.said(chat, shown, changed, "other")
    assert shared.model.requests[-1]["model"] == "other"
    elsewhere = next(chats)
    shared.telegram.say(elsewhere, "say:same")
    await shared.said(elsewhere, "same")
    assert shared.model.requests[-1]["model"] == "scripted"


async def test_a_model_nobody_knows_is_refused_and_nothing_changes(
    shared: World, chat: int
) -> None:
    shared.telegram.say(chat, "/model nosuchprovider/x")
    (refused,) = await shared.answered(chat)
    assert "nosuchprovider" in refused
    shared.telegram.say(chat, "/model test/scriptd")
    (_, near) = await shared.answered(chat, 2)
    assert 'did you mean "test/scripted"?' in near
    shared.telegram.say(chat, "/model --default")
    (*_, default) = await shared.answered(chat, 3)
    assert default == "This session now uses test/scripted."
    shared.telegram.say(chat, "say:as before")
    await shared.said(chat, refused, near, default, "as before")


async def test_members_change_no_model_and_run_a_command_only_if_an_owner_agrees(
    shared: World, chat: int
) -> None:
    shared.telegram.say(chat, "say:an owner is here")
    await shared.said(chat, "an owner is here")
    shared.telegram.say(MEMBER_CHAT, "/model test/other")
    await shared.said(MEMBER_CHAT, "Only owners change the model.")
    command = json.dumps({"command": "echo x > member"})
    shared.telegram.say(MEMBER_CHAT, f"tool:exec:{command}\nsay:talked")
    _, question = await shared.answered(MEMBER_CHAT, 2)
    assert "an owner has to agree" in question
    number = re.search(r"\(#(\d+)\)", question)
    assert number
    shared.telegram.say(MEMBER_CHAT, f"/approve {number[1]}")
    assert "You may not decide" in (await shared.answered(MEMBER_CHAT, 3))[2]
    shared.telegram.say(chat, f"/deny {number[1]}")
    assert (await shared.answered(MEMBER_CHAT, 4))[3] == "talked"
    assert not (shared.workspace / "member").exists()


async def test_a_stranger_gets_one_word_and_the_model_never_hears_them(shared: World) -> None:
    texts = ("hello", "/status", "/stop", "are you there?")
    updates = [shared.telegram.say(STRANGER, text) for text in texts]
    await shared.acknowledged(updates[-1])
    shared.telegram.say(OWNER_CHAT, "say:meanwhile")
    await shared.said(OWNER_CHAT, "meanwhile")
    (notice,) = shared.texts(STRANGER)
    assert notice.startswith("This assistant is private.")
    assert "pairing code" in notice
    assert len(shared.model.requests) == 1


# Tools that the model gets wrong


def results(body: Body) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


async def test_an_unknown_tool_is_answered_with_those_there_are(shared: World, chat: int) -> None:
    shared.telegram.say(chat, 'tool:read_fil:{"path": "x"}\nsay:done')
    await shared.said(chat, "done")
    (result,) = results(shared.model.requests[-1])
    assert "there is no tool" in result
    assert "read_file" in result


@pytest.mark.parametrize(
    "arguments", ["{not json", '{"path": 7}', '{"nothing": "known"}', "[]", '"text"', "null"]
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(
    shared: World, chat: int, arguments: str
) -> None:
    shared.telegram.say(chat, f"tool:read_file:{arguments}\nsay:done")
    await shared.said(chat, "done")
    (result,) = results(shared.model.requests[-1])
    assert result.startswith("error: ")


async def test_a_call_that_was_cut_off_is_never_executed(shared: World, chat: int) -> None:
    whole = json.dumps({"command": f"echo x > cut{chat}"})
    cut = Answer(tool_calls=[("exec", whole)], finish_reason="length")
    shared.model.fail_with(Fault(answer=cut))
    shared.telegram.say(chat, "say:unused")
    await shared.answered(chat)
    (result,) = results(shared.model.requests[-1])
    assert result.startswith("not executed: your answer was cut off")
    assert not (shared.workspace / f"cut{chat}").exists()


async def test_the_same_call_with_the_same_result_is_stopped_with_a_hint(
    shared: World, chat: int
) -> None:
    call = json.dumps({"command": f"echo x >> same{chat}"})

    def script(body: Body) -> Answer:
        if results(body) and results(body)[-1].startswith("not executed"):
            return Answer("understood")
        return Answer(tool_calls=[("exec", call)])

    shared.model.script = script
    shared.telegram.say(chat, "go")
    await shared.said(chat, "understood")
    assert (shared.workspace / f"same{chat}").read_text() == "x\n" * 3
    assert "you have made this very call 3 times" in results(shared.model.requests[-1])[-1]


# Text


async def test_a_message_of_a_million_characters_is_answered(shared: World, chat: int) -> None:
    shared.telegram.say(chat, "x" * 999_980 + "\nsay:read")
    await shared.said(chat, "read")


async def test_a_longer_message_is_refused_with_what_to_do(shared: World, chat: int) -> None:
    shared.telegram.say(chat, "x" * 1_000_001)
    (text,) = await shared.answered(chat)
    assert text.startswith("This message has 1,000,001 characters; I take at most 1,000,000.")


@pytest.mark.parametrize("text", [" ", "\n\n", "\x00\x01\x7f"])
async def test_a_message_of_nothing_is_answered_without_the_model_and_the_chat_goes_on(
    shared: World, chat: int, text: str
) -> None:
    shared.telegram.say(chat, text)
    shared.telegram.say(chat, "say:something")
    empty = "Your message was empty: there is nothing to answer."
    await shared.said(chat, empty, "something")
    assert len(shared.model.requests) == 1


async def test_control_characters_and_broken_surrogates_do_not_reach_the_model(
    shared: World, chat: int
) -> None:
    shared.telegram.say(chat, "say:a\x00b\x1b[31m\ud83d c \ud83d\ude00 e\u0301")
    await shared.said(chat, "ab[31m\ufffd c \U0001f600 e\u0301")


async def test_a_long_answer_comes_whole_and_in_order(shared: World, chat: int) -> None:
    words = " ".join(f"w{number}" for number in range(2_000))
    shared.telegram.say(chat, f"say:{words}")
    await shared.telegram.until(lambda: "w1999" in " ".join(shared.texts(chat)), PATIENCE)
    assert " ".join(shared.texts(chat)).split() == words.split()


async def test_an_edit_that_changes_nothing_is_not_answered_while_its_run_works(
    shared: World, chat: int
) -> None:
    asked = len(shared.model.requests)
    update = shared.telegram.say(chat, "wait:2\nsay:one")
    await shared.asked(asked + 1)
    number = update["message"]["message_id"]
    shared.telegram.edit(chat, number, "wait:2\nsay:one", reply_markup={"inline_keyboard": []})
    await shared.said(chat, "one")
    shared.telegram.edit(chat, number, "wait:2\nsay:one", edit_date=9)
    shared.telegram.say(chat, "say:two")
    await shared.said(chat, "one", "two")
    assert len(shared.model.requests) == asked + 2


async def test_an_edit_of_what_was_answered_is_not_answered_again(shared: World, chat: int) -> None:
    update = shared.telegram.say(chat, "say:one")
    await shared.said(chat, "one")
    shared.telegram.edit(chat, update["message"]["message_id"], "say:two")
    await shared.said(chat, "one", LATE_EDIT)
    shared.telegram.say(chat, "say:three")
    await shared.said(chat, "one", LATE_EDIT, "three")
    assert "say:two" not in str(shared.model.requests[-1]["messages"])
