"""`nanobot agent` as a conversation in a terminal."""

from __future__ import annotations

import pytest

from tests.doubles.openai_server import Answer, Body, Fault
from tests.process.harness import World
from tests.process.terminal import END, ENTER, INTERRUPT, conversation

WELCOME = "/help"


@pytest.fixture(autouse=True)
def _shouting(world: World) -> None:
    """Answers are what was said in capitals: what is typed is on the screen anyway."""

    def shout(body: Body) -> Answer | None:
        text = str(body["messages"][-1]["content"]).splitlines()[-1]
        return None if text.startswith("tool:") else Answer(text.upper())

    world.model.script = shout


@pytest.fixture(params=["alone", "through a gateway"])
async def place(request: pytest.FixtureRequest, world: World) -> str:
    if request.param != "alone":
        await world.start()
    return str(request.param)


async def test_a_conversation_shows_answers_and_ends_at_end_of_input(
    world: World, place: str
) -> None:
    async with conversation(world) as screen:
        await screen.shows(WELCOME)
        screen.type(f"first{ENTER}")
        await screen.shows("FIRST")
        screen.type(f"second{ENTER}")
        await screen.shows("SECOND")
        screen.type(END)
        assert await screen.ended() == 0
    assert len(world.model.requests) == 2


async def test_an_answer_is_shown_while_it_comes_and_an_interrupt_ends_it_but_not_the_program(
    world: World,
) -> None:
    words = Answer(chunks=("as far", " as it", " came before"))
    world.model.fail_with(Fault(hang_after=3, answer=words))
    async with conversation(world) as screen:
        await screen.shows(WELCOME)
        screen.type(f"go{ENTER}")
        await screen.shows("as far as it")
        screen.type(INTERRUPT)
        await screen.shows("Stopped.")
        screen.type(f"still here{ENTER}")
        await screen.shows("STILL HERE")
        screen.type(END)
        assert await screen.ended() == 0


async def test_an_interrupt_ends_a_command_with_all_its_processes(world: World) -> None:
    async with conversation(world) as screen:
        await screen.shows(WELCOME)
        screen.type('tool:exec:{"command": "sleep 300.375; true"}' + ENTER)
        await world.eventually(lambda: bool(world.processes("sleep", "300.375")))
        screen.type(INTERRUPT)
        await screen.shows("Stopped.")
        await world.eventually(lambda: not world.processes("sleep", "300.375"))
        screen.type(END)
        assert await screen.ended() == 0


async def test_orders_are_answered_between_messages(world: World) -> None:
    async with conversation(world) as screen:
        await screen.shows(WELCOME)
        screen.type(f"/status{ENTER}")
        await screen.shows("Session: cli:direct")
        screen.type(END)
        assert await screen.ended() == 0
    assert world.model.requests == []


async def test_a_terminal_that_dies_finds_its_answer_at_the_next_start(world: World) -> None:
    gateway = await world.start()
    world.model.fail_with(Fault(hang=True))
    async with conversation(world) as screen:
        await screen.shows(WELCOME)
        screen.type(f"late{ENTER}")
        await world.asked()
    await gateway.kill()

    await world.start()
    await world.asked(2)
    async with conversation(world) as screen:
        await screen.shows("From before:")
        await screen.shows("LATE", times=2)
        screen.type(END)
        assert await screen.ended() == 0
