"""Approvals end to end: asked in one chat, given in another, across a restart and a kill."""

from __future__ import annotations

import json
import re
from random import Random

from tests.doubles.reactions import on_telegram
from tests.process.harness import PATIENCE, Nanobot, World
from tests.process.platforms import LiveDiscord, OnDiscord

OWNER, MEMBER = 1, 101
COMMAND = json.dumps({"command": "echo done >> effects"})


async def asked(world: World) -> None:
    """The owner is known, and a member has asked for a command."""
    world.telegram.say(OWNER, "say:hello")
    assert (await world.telegram.reply_in(OWNER)).text == "hello"
    world.telegram.say(MEMBER, f"tool:exec:{COMMAND}\nsay:it is done")
    assert (await world.telegram.reply_in(MEMBER)).text.startswith("May I do this? (#1)")


async def test_an_owner_approves_in_their_own_chat_after_a_kill_and_a_restart(
    world: World, gateway: Nanobot
) -> None:
    await asked(world)
    question = await world.telegram.reply_in(OWNER)
    assert "echo done >> effects" in question.text
    gateway = await world.revive(gateway)
    assert not (world.workspace / "effects").exists()
    world.telegram.press(question, "Approve")
    # What was being sent at the kill may come twice, and says so.
    await world.telegram.until(lambda: "it is done" in world.texts(MEMBER))
    await world.telegram.until(lambda: "Approved: exec (#1)" in world.texts(OWNER))
    assert (world.workspace / "effects").read_text() == "done\n"

    def closed(chat: int) -> bool:
        """Its question says who approved, and has no buttons any more."""
        return any(
            "\n\nApproved by Person 1" in message.text and "reply_markup" not in message.params
            for message in world.telegram.messages(chat)
        )

    await world.telegram.until(lambda: closed(OWNER) and closed(MEMBER))
    await world.rests(gateway)


async def test_a_thumb_under_the_question_is_kept_over_a_kill_and_decides_once(
    world: World,
) -> None:
    gateway = await world.launch(crash_at="answer:before")
    await gateway.ready()
    await asked(world)
    question = await world.telegram.reply_in(OWNER)
    assert on_telegram(world.telegram, OWNER, question.message_id, "👍")
    await gateway.died()
    gateway = await world.start()
    await world.telegram.until(lambda: "it is done" in world.texts(MEMBER))
    assert (world.workspace / "effects").read_text() == "done\n"
    await world.telegram.until(
        lambda: any("Approved by Person 1" in text for text in world.texts(OWNER))
    )
    assert not any(text.startswith("Approved: exec") for text in world.texts(OWNER))
    assert on_telegram(world.telegram, OWNER, question.message_id, before=("👍",))
    assert on_telegram(world.telegram, OWNER, question.message_id, "👎")
    world.telegram.say(OWNER, "say:still here")
    await world.telegram.until(lambda: "still here" in world.texts(OWNER))
    listed = await world.run("approvals", "list", "--state", "all", "--json")
    assert [each["state"] for each in json.loads(listed.output)] == ["approved"]
    await world.rests(gateway)


async def test_a_later_approval_from_the_command_line_is_told_in_the_chat(world: World) -> None:
    gateway = await world.start()
    await asked(world)
    world.telegram.say(MEMBER, "say:go on without it")
    assert (await world.telegram.reply_in(MEMBER)).text == "#1 still waits: an owner decides."
    assert "go on without it" in (await world.telegram.reply_in(MEMBER)).text
    listed = await world.run("approvals", "list", "--json")
    (waiting,) = json.loads(listed.output)
    assert (waiting["state"], waiting["tool"]) == ("detached", "exec")
    done = await world.run("approvals", "approve", "1")
    assert (done.code, done.output.strip()) == (0, "Approved: exec (#1)")
    await world.eventually((world.workspace / "effects").exists)
    await world.answered(MEMBER, 4)
    await world.rests(gateway)


async def test_without_a_gateway_an_answer_is_kept_for_the_next_one(world: World) -> None:
    gateway = await world.start()
    await asked(world)
    assert await gateway.stop() == 0
    assert (await world.run("approvals", "deny", "1")).code == 0
    late = await world.run("approvals", "approve", "1")
    assert late.code == 1
    assert "#1 was already denied by the owner" in late.errors
    gateway = await world.start()
    await world.answered(MEMBER, 2)
    assert not (world.workspace / "effects").exists()
    await world.rests(gateway)


async def test_one_question_on_the_command_line_asks_nobody(world: World) -> None:
    world.configure(more='[[policy.rules]]\ntool = "exec"\nverdict = "ask"\n')
    ended = await world.run("agent", "-m", f"tool:exec:{COMMAND}\nsay:I could not")
    assert (ended.code, ended.output.strip()) == (0, "I could not")
    ((payload,),) = world.rows("SELECT payload FROM entries WHERE kind = 'tool_result'")
    assert b"nobody can be asked here" in payload
    assert not (world.workspace / "effects").exists()


async def test_two_platforms_wait_at_once_over_a_kill_and_each_is_answered_in_its_own(
    world: World,
) -> None:
    async with LiveDiscord() as server:
        discord = OnDiscord(server, Random(1), chats=1)
        (place,) = discord.chats
        world.configure(more=discord.table())
        gateway = await world.start()
        await discord.connected()
        for name in ("tele", "disc"):
            command = json.dumps({"command": f"rm -rf *; echo {name} > {name}"})
            text = f"tool:exec:{command}\nsay:{name} is done"
            if name == "tele":
                world.telegram.say(OWNER, text)
            else:
                await discord.say(place, text)
        await world.answered(OWNER)
        await discord.until(lambda: bool(discord.shown(place)), PATIENCE)
        questions = {"tele": world.texts(OWNER)[0], "disc": discord.shown(place)[0]}
        numbers = {name: asked_number(text) for name, text in questions.items()}
        assert sorted(numbers.values()) == [1, 2]
        await gateway.kill()
        await discord.left()
        gateway = await world.start()
        await discord.connected()
        await discord.say(place, f"/approve {numbers['disc']}")
        await discord.until(lambda: "disc is done" in discord.shown(place), PATIENCE)
        assert (world.workspace / "disc").exists()
        assert not (world.workspace / "tele").exists()
        world.telegram.say(OWNER, f"/deny {numbers['tele']}")
        await world.telegram.until(lambda: "tele is done" in world.texts(OWNER), PATIENCE)
        assert not (world.workspace / "tele").exists()
        assert await gateway.stop() == 0
    world.verify()


def asked_number(text: str) -> int:
    match = re.search(r"\(#(\d+)\)", text)
    assert match, text
    return int(match[1])
