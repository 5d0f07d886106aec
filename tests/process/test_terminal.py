"""`nanobot agent -m`: one question from a terminal or a script, alone or through a gateway."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from tests.doubles.openai_server import Answer, Fault, error_status
from tests.process.harness import COMMAND, Ended, World


def spoken(world: World) -> str:
    """What the model was last shown, but for what it is told of itself and by memory."""
    shown = [m["content"] for m in world.model.requests[-1]["messages"] if m["role"] != "system"]
    return json.dumps([text for text in shown if "from memory" not in json.dumps(text)])


def said_last(world: World) -> str:
    return str(world.model.requests[-1]["messages"][-1]["content"])


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
    assert len({event["session_key"] for event in events}) == 1
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
    assert ended.output == ""
    assert ended.errors.count("Check providers.test.api_key.") == 1
    assert ended.errors.rstrip().endswith(".")


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
    "arguments", [["agent", "-m", " "], ["agent", "--nosuch"], ["gatway"], ["agent", "-m"]]
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


async def test_an_interrupt_ends_the_run_that_was_asked_for_and_says_so(
    world: World, place: str
) -> None:
    world.model.fail_with(Fault(hang=True))
    asking = await world.launch("agent", "-m", "say:late")
    await world.asked()
    asking.signal(signal.SIGINT)
    assert await asking.ended() == 130
    assert "Stopped." in world.log
    runs = json.loads((await world.run("runs", "list", "--json")).output)
    assert [run["state"] for run in runs] == ["aborted"]


async def test_an_answer_from_before_is_never_printed_as_the_one_of_now(world: World) -> None:
    gateway = await world.start()
    world.model.fail_with(Fault(hang=True))
    asking = await world.launch("agent", "-m", "say:late", "--session", "cli:one")
    await world.asked()
    await asking.kill()
    await gateway.kill()

    await world.start()
    await world.asked(2)
    ended = await world.run("agent", "-m", "say:now", "--session", "cli:one")
    assert (ended.code, ended.output) == (0, "now\n")
    assert "(1 earlier message of this conversation not shown here.)" in ended.errors


async def test_one_message_begins_a_conversation_and_another_may_continue_it(world: World) -> None:
    await world.run("agent", "-m", "say:xyzzy")
    await world.run("agent", "-m", "say:here")
    assert "xyzzy" not in spoken(world)
    await world.run("agent", "-c", "-m", "say:again")
    assert "say:here" in spoken(world)
    assert "xyzzy" not in spoken(world)


async def test_what_is_piped_in_stands_behind_the_message(world: World) -> None:
    await world.run("agent", "-m", "sum this up", stdin=b"commit 1\ncommit 2\n")
    assert "sum this up\n\ncommit 1\ncommit 2" in said_last(world)


async def test_of_too_much_input_it_is_said_that_it_was_cut(world: World) -> None:
    ended = await world.run("agent", "-m", "say:ok", stdin=b"x" * 220_000)
    assert "standard input was cut after 200,000 bytes" in ended.errors
    assert said_last(world).endswith("[standard input was cut after 200,000 bytes]")


async def test_a_pipe_that_nobody_closes_is_not_waited_for_long(world: World) -> None:
    command = await asyncio.create_subprocess_exec(
        *(*COMMAND, "agent", "-m", "say:hello"),
        env=world.environ(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert command.stdout is not None
    async with asyncio.timeout(60):
        assert await command.stdout.read() == b"hello\n"
        assert await command.wait() == 0


@pytest.mark.parametrize(
    "arguments", [["agent", "say:hi"], ["say:hi"], ["say:hi", "--json"], ["-m", "say:hi"]]
)
async def test_words_without_an_option_are_a_message(world: World, arguments: list[str]) -> None:
    ended = await world.run(*arguments)
    assert ended.code == 0
    assert "hi" in ended.output


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("stauts", "nanobot status"),
        ("stop", "nanobot sessions stop"),
        ("install", "nanobot service install"),
        ("chat", "nanobot agent"),
        ("sesions list", "nanobot sessions list"),
        ("service-status", "nanobot service"),
        ("hello", 'nanobot agent -m "hello"'),
    ],
)
async def test_what_looks_like_a_command_is_no_message(
    world: World, typed: str, nearest: str
) -> None:
    ended = await world.run(*typed.split())
    assert ended.code == 2
    assert f"No such command '{typed}'" in ended.errors
    assert nearest in ended.errors
    assert world.model.requests == []


async def test_a_file_that_is_named_goes_along(world: World) -> None:
    notes = world.home.parent / "notes.txt"
    notes.write_text("the secret is 42", encoding="utf-8")
    await world.run("agent", "-m", f"what is in @{notes}?")
    assert "the secret is 42" in said_last(world)


async def test_a_port_where_nothing_listens_is_told_at_once_and_given_up_soon(
    world: World,
) -> None:
    ended = await world.run(
        "agent", "-m", "hello", NANOBOT_PROVIDERS__TEST__API_BASE="http://127.0.0.1:9/v1"
    )
    assert ended.code == 5
    assert ended.output == ""
    assert ended.errors.count("test did not answer at http://127.0.0.1:9/v1: nothing listens") == 1
    assert ended.errors.count("trying again") == 2


async def test_two_terminals_at_once_each_get_their_own_answer(world: World) -> None:
    await world.start()
    async with asyncio.TaskGroup() as tasks:
        answers = [
            tasks.create_task(world.run("agent", "-m", f"say:{name}", "--session", f"cli:{name}"))
            for name in ("left", "right")
        ]
    assert [task.result().output for task in answers] == ["left\n", "right\n"]


async def test_a_gateway_that_dies_meanwhile_is_said_and_the_message_is_kept(world: World) -> None:
    gateway = await world.start()
    world.model.fail_with(Fault(hang=True))
    asking = await world.launch("agent", "-m", "say:kept")
    await world.asked()
    await gateway.kill()
    assert await asking.ended() == 1
    assert "the request is stored" in world.log

    ended = await world.run("agent", "-c", "-m", "say:now")
    assert ended.output == "now\n"
    assert "say:kept" in spoken(world)


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


async def test_a_termination_ends_the_run_too(world: World) -> None:
    world.model.fail_with(Fault(hang=True))
    asking = await world.launch("agent", "-m", "say:late")
    await world.asked()
    assert await asking.stop() == 128 + signal.SIGTERM
    runs = json.loads((await world.run("runs", "list", "--json")).output)
    assert [run["state"] for run in runs] == ["aborted"]
