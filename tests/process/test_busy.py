"""What becomes of a message while an answer is being made, by `agent.when_busy`, and of messages
that belong together."""

from __future__ import annotations

from typing import Any

from nanobot.session.entries import ReplyEntry, UserEntry
from tests.doubles.openai_server import Answer, Body, Fault
from tests.process.harness import PATIENCE, World

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8) + (9).to_bytes(4, "big") * 2


def echo_of_the_new(body: Body) -> Answer:
    """What was said since the last answer, on one line."""
    new: list[str] = []
    for message in body["messages"]:
        new = [] if message["role"] in ("assistant", "system") else [*new, message["content"]]
    return Answer(" + ".join(text.rpartition("\n")[2] for text in new))


async def test_collect_lets_the_run_end_and_answers_afterwards(world: World) -> None:
    world.configure('when_busy = "collect"\ncollect_seconds = 0.3')
    await world.start()
    await world.say_during_a_command(1, "say:one", "say:first")
    await world.said(1, "first", "one")


async def test_collect_waits_for_the_last_of_a_burst(world: World) -> None:
    world.configure('when_busy = "collect"\ncollect_seconds = 1')
    world.model.fail_with(Fault(hang_after=1, answer=Answer(chunks=("never", " said"))))
    gateway = await world.start()
    world.telegram.say(1, "begin")
    await world.asked()
    world.model.script = echo_of_the_new
    for text in ("one", "two", "three"):
        await world.acknowledged(world.telegram.say(1, text))
    await gateway.kill()
    await world.start()
    await world.answered(1, 2)
    assert world.texts(1) == ["begin", "one + two + three"]


async def test_an_interrupting_message_ends_the_run_and_keeps_what_was_said(world: World) -> None:
    world.configure('when_busy = "interrupt"')
    world.model.fail_with(Fault(hang_after=2, answer=Answer(chunks=("as far", " as it went"))))
    gateway = await world.start()
    world.telegram.say(1, "tell me something long")

    def shown() -> str:
        return str([draft.versions for draft in world.telegram.native.drafts.get(1, [])])

    await world.telegram.until(lambda: "as far" in shown(), PATIENCE)
    seen: list[Body] = []

    def script(body: Body) -> None:
        seen.append(body)

    world.model.script = script
    world.telegram.say(1, "say:instead")
    await world.telegram.until(lambda: world.texts(1)[1:] == ["instead"], PATIENCE)
    await world.telegram.until(lambda: world.texts(1)[0].endswith("[stopped]"), PATIENCE)
    assert await gateway.stop() == 0
    partial = [b for b in world.entries("telegram:1") if isinstance(b, ReplyEntry) and b.partial]
    assert len(partial) == 1
    assert partial[0].text.startswith("as far")
    roles = [message["role"] for message in seen[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    world.verify()


async def test_an_album_is_one_message_whatever_comes_between_its_parts(world: World) -> None:
    gateway = await world.start()
    world.model.script = lambda body: Answer("seen")
    for number in (1, 2, 3):
        file = world.telegram.extras.put_file(PNG + bytes([number]))
        photo = {"file_id": file, "file_unique_id": f"u{number}", "width": 9, "height": 9}
        fields: dict[str, Any] = {"caption": f"picture {number}", "media_group_id": "album-7"}
        world.telegram.say(1, "", photo=[photo], **fields)
        world.telegram.say(2, f"other chat {number}")
    await world.answered(1, 1)
    await world.answered(2, 1)
    assert await gateway.stop() == 0
    assert world.texts(1) == ["seen"]
    taken = [body for body in world.entries("telegram:1") if isinstance(body, UserEntry)]
    assert [f"picture {number}" in entry.text for number, entry in enumerate(taken, 1)] == [
        True
    ] * 3
    assert [len(entry.attachments) for entry in taken] == [1, 1, 1]
    assert all(entry.attachments[0].path and not entry.attachments[0].error for entry in taken)
