"""What the workspace wants done when the gateway starts and stops, as people see it."""

from __future__ import annotations

import json
import signal

import pytest

from nanobot.session.entries import ReplyEntry, ToolResultEntry, UserEntry
from tests.process.harness import Nanobot, World

BOOT, SHUTDOWN = "lifecycle:boot", "lifecycle:shutdown"
GREETING = 'tool:message:{"content": "I am up.", "channel": "telegram", "chat_id": "1"}'


def write(world: World, name: str, text: str) -> None:
    world.workspace.mkdir(parents=True, exist_ok=True)
    (world.workspace / name).write_text(text)


def replies(world: World, session: str) -> list[str]:
    return [body.text for body in world.entries(session) if isinstance(body, ReplyEntry)]


async def test_without_the_files_nothing_happens(world: World, gateway: Nanobot) -> None:
    assert await gateway.stop() == 0
    assert world.model.requests == []
    assert world.rows("SELECT key FROM sessions") == []


async def test_a_start_and_a_stop_are_runs_whose_answers_go_nowhere(world: World) -> None:
    write(world, "BOOT.md", "say:all is well")
    write(world, "SHUTDOWN.md", "say:good night")
    gateway = await world.start()
    await world.asked()
    listed = await world.run("sessions", "list", "--json")
    assert [(session["key"], session["has_unread"]) for session in json.loads(listed.output)] == [
        (BOOT, False)
    ]
    assert await gateway.stop() == 0
    assert (replies(world, BOOT), replies(world, SHUTDOWN)) == (["all is well"], ["good night"])
    entry = world.entries(BOOT)[0]
    assert isinstance(entry, UserEntry)
    assert (entry.origin, entry.role) == ("lifecycle", "owner")
    assert entry.text.startswith("nanobot has just started. BOOT.md says what to do now:")
    assert world.telegram.messages(1) == []
    world.verify()


async def test_a_run_of_the_start_reaches_people_with_the_message_tool(world: World) -> None:
    gateway = await world.start()
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    assert await gateway.stop() == 0
    write(world, "BOOT.md", GREETING)
    await world.start()
    await world.said(1, "hello", "I am up.")


async def test_each_start_sees_only_its_own(world: World) -> None:
    write(world, "BOOT.md", "say:up")
    for count in (1, 2):
        gateway = await world.start()
        await world.asked(count)
        assert await gateway.stop() == 0
    assert [len(request["messages"]) for request in world.model.requests] == [2, 2]
    assert replies(world, BOOT) == ["up", "up"]


async def test_switched_off_it_does_nothing(world: World) -> None:
    world.configure(more="[lifecycle]\nenabled = false")
    write(world, "BOOT.md", "say:up")
    gateway = await world.start()
    assert await gateway.stop() == 0
    assert world.model.requests == []


async def test_channels_wait_for_the_start_when_told_to(world: World) -> None:
    world.configure(more="[lifecycle]\nwait_for_boot = true")
    write(world, "BOOT.md", "wait:0.5\nsay:up")
    gateway = await world.start()
    assert await gateway.stop() == 0
    assert replies(world, BOOT) == ["up"]


async def test_a_start_that_takes_too_long_holds_nothing_up(world: World) -> None:
    world.configure(more="[lifecycle]\nwait_for_boot = true\nboot_seconds = 0.3")
    write(world, "BOOT.md", "wait:60\nsay:up")
    gateway = await world.start()
    world.telegram.say(1, "say:here I am")
    await world.said(1, "here I am")
    assert await gateway.stop() == 0


async def test_a_stop_that_takes_too_long_is_cut_and_never_resumed(world: World) -> None:
    world.configure(more="[lifecycle]\nshutdown_seconds = 0.3")
    write(world, "SHUTDOWN.md", "wait:60\nsay:good night")
    gateway = await world.start()
    await world.rests(gateway)
    before = len(world.model.requests)
    (world.workspace / "SHUTDOWN.md").unlink()
    second = await world.start()
    assert await second.stop() == 0
    assert len(world.model.requests) == before


async def test_a_stop_that_was_killed_is_not_done_at_the_next_start(world: World) -> None:
    write(world, "SHUTDOWN.md", "wait:60\nsay:good night")
    gateway = await world.start()
    gateway.signal(signal.SIGTERM)
    await world.asked()
    await gateway.kill()
    (world.workspace / "SHUTDOWN.md").unlink()
    second = await world.start()
    await world.rests(second)
    assert len(world.model.requests) == 1


async def test_a_start_that_was_killed_is_resumed_once(world: World) -> None:
    write(world, "BOOT.md", "wait:60\nsay:up")
    gateway = await world.start()
    await world.asked()
    await gateway.kill()
    write(world, "BOOT.md", "say:never asked")
    second = await world.start()
    await world.asked(2)
    assert "no new run begins" in world.log
    await second.kill()


async def test_answers_in_the_making_end_beside_the_run_of_the_stop(world: World) -> None:
    write(world, "SHUTDOWN.md", "wait:0.5\nsay:good night")
    gateway = await world.start()
    world.telegram.say(1, "wait:0.5\nsay:nearly done")
    await world.asked()
    assert await gateway.stop() == 0
    assert world.texts(1) == ["nearly done"]
    assert replies(world, SHUTDOWN) == ["good night"]


async def test_the_run_of_the_stop_may_use_tools(world: World) -> None:
    arguments = '{"path": "notes/open.md", "content": "nothing"}'
    write(world, "SHUTDOWN.md", f"tool:write_file:{arguments}\nsay:written")
    gateway = await world.start()
    assert await gateway.stop() == 0
    assert (world.workspace / "notes" / "open.md").read_text() == "nothing"
    results = [body for body in world.entries(SHUTDOWN) if isinstance(body, ToolResultEntry)]
    assert [result.ok for result in results] == [True]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff"])
async def test_files_of_any_content_do_no_harm(world: World, content: bytes) -> None:
    world.workspace.mkdir(parents=True)
    (world.workspace / "BOOT.md").write_bytes(content)
    gateway = await world.start()
    assert await gateway.stop() == 0
