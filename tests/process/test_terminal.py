"""`nanobot agent -m`: one question from a terminal or a script, alone or through a gateway."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from tests.doubles.openai_server import Answer, Fault, error_status
from tests.process.harness import COMMAND, Ended, World

EARLIER = "(an answer from before)"


@pytest.fixture(params=["alone", "through a gateway"])
async def place(request: pytest.FixtureRequest, world: World) -> str:
    """With nobody serving the home, and through a gateway that does."""
    if request.param != "alone":
        await world.start()
    return str(request.param)


async def test_one_message_gives_its_answer_on_standard_output(world: World, place: str) -> None:
    ended = await world.run("agent", "-m", "say:hello there")
    assert ended == Ended(0, "hello there\n", "")


async def test_json_gives_events_line_by_line_to_the_end(world: World, place: str) -> None:
    ended = await world.run("agent", "--json", "-m", 'tool:list_dir:{"path":"."}\nsay:done')
    assert ended.code == 0
    events = [json.loads(line) for line in ended.output.splitlines()]
    kinds = [event["kind"] for event in events if event["kind"] != "model_delta"]
    assert kinds == [
        "status",
        "assistant_message",
        "tool_call",
        "tool_result",
        "assistant_message",
        "end",
    ]
    assert events[-1]["payload"]["text"] == "done"
    assert {event["session_key"] for event in events} == {"cli:direct"}
    numbers = [event["seq"] for event in events]
    assert numbers == sorted(set(numbers))


async def test_a_session_of_its_own_has_a_history_of_its_own(world: World, place: str) -> None:
    await world.run("agent", "-m", "say:xyzzy", "--session", "cli:one")
    await world.run("agent", "-m", "say:here", "--session", "cli:two")
    assert "xyzzy" not in json.dumps(world.model.requests[-1]["messages"])
    await world.run("agent", "-m", "say:again", "--session", "cli:one")
    assert "secret" in json.dumps(world.model.requests[-1]["messages"])


async def test_orders_work_as_in_a_chat(world: World, place: str) -> None:
    ended = await world.run("agent", "-m", "/help")
    assert ended.code == 0
    assert "/stop" in ended.output
    assert world.model.requests == []


async def test_a_refusing_model_ends_with_five(world: World, place: str) -> None:
    world.model.fail_with(error_status(401))
    ended = await world.run("agent", "-m", "hello")
    assert ended.code == 5
    assert "Check providers.test.api_key." in ended.output + ended.errors


async def test_a_limit_ends_with_one_and_shows_what_there_is(world: World) -> None:
    world.model.fail_with(Fault(answer=Answer("so far", tool_calls=[("list_dir", "{}")])))
    ended = await world.run("agent", "-m", "go", NANOBOT_AGENT__MAX_ITERATIONS="1")
    assert ended.code == 1
    assert ended.output.startswith("so far\n\n(I stopped here")


async def test_a_pipe_is_one_message(world: World) -> None:
    ended = await world.run("agent", stdin=b"say:first line\nsay:second line\n")
    assert ended == Ended(0, "first line\nsecond line\n", "")


@pytest.mark.parametrize("stdin", [b"", b" \n", b"\xff\xfe"])
async def test_a_pipe_of_nothing_or_of_bytes_ends_cleanly(world: World, stdin: bytes) -> None:
    ended = await world.run("agent", stdin=stdin)
    assert ended.code == (2 if not stdin.strip() else 0)


@pytest.mark.parametrize(
    "arguments", [["agent", "-m", " "], ["agent", "--nosuch"], ["nosuch"], ["agent", "-m"]]
)
async def test_wrong_use_ends_with_two(world: World, arguments: list[str]) -> None:
    assert (await world.run(*arguments)).code == 2


async def test_a_wrong_configuration_ends_with_three_naming_the_key(world: World) -> None:
    world.configure(agent='when_busy = "sometimes"')
    ended = await world.run("agent", "-m", "hello")
    assert ended.code == 3
    assert "agent.when_busy" in ended.errors


async def test_a_model_of_an_unknown_provider_ends_with_three_naming_it(
    world: World,
) -> None:
    ended = await world.run("agent", "-m", "hello", NANOBOT_AGENT__MODEL="nosuch/model")
    assert ended.code == 3
    assert "nosuch" in ended.output + ended.errors


async def test_a_home_that_is_a_file_ends_with_four(world: World) -> None:
    file = world.home.parent / "file"
    file.touch()
    assert (await world.run("agent", "-m", "hello", NANOBOT_HOME=str(file))).code in {3, 4}


async def test_an_interrupt_ends_with_130_and_the_answer_waits_for_the_next_time(
    world: World,
) -> None:
    world.model.fail_with(Fault(hang=True))
    asking = await world.launch("agent", "-m", "say:late")
    await world.asked()
    asking.signal(signal.SIGINT)
    assert await asking.ended() == 130

    ended = await world.run("agent", "-m", "say:now")
    assert ended.code == 0
    assert ended.output.endswith("now\n")


async def test_an_answer_whose_terminal_died_is_shown_at_the_next_start_as_earlier(
    world: World,
) -> None:
    gateway = await world.start()
    world.model.fail_with(Fault(hang=True))
    asking = await world.launch("agent", "-m", "say:late")
    await world.asked()
    await asking.kill()
    await gateway.kill()

    await world.start()
    await world.asked(2)
    ended = await world.run("agent", "-m", "say:now")
    assert (ended.code, ended.output) == (0, "late\nnow\n")
    assert EARLIER in ended.errors


async def test_two_terminals_at_once_each_get_their_own_answer(world: World) -> None:
    await world.start()
    async with asyncio.TaskGroup() as tasks:
        asked = [
            tasks.create_task(world.run("agent", "-m", f"say:{name}", "--session", f"cli:{name}"))
            for name in ("left", "right")
        ]
    assert [task.result().output for task in asked] == ["left\n", "right\n"]


async def test_a_gateway_that_dies_meanwhile_is_said_and_the_message_is_kept(world: World) -> None:
    gateway = await world.start()
    world.model.fail_with(Fault(hang=True))
    asking = await world.launch("agent", "-m", "say:kept")
    await world.asked()
    await gateway.kill()
    assert await asking.ended() == 1
    assert "what was asked is kept" in world.log

    ended = await world.run("agent", "-m", "say:now")
    assert ended.output == "kept\nnow\n"


async def test_the_installed_command_is_the_same_program(world: World) -> None:
    command = await asyncio.create_subprocess_exec(
        *(*COMMAND, "agent", "-m", "say:hello"),
        env=world.environ(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await command.communicate()
    assert (command.returncode, output) == (0, b"hello\n")


@pytest.mark.slow
async def test_the_embedded_model_really_answers(world: World) -> None:
    ended = await world.run("agent", "-m", "What is 2 + 2?", NANOBOT_AGENT__MODEL="embedded")
    assert ended.code == 0
    assert ended.output.strip()
    assert world.model.requests == []
