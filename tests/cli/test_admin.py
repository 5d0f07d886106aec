"""The commands over a home, with and without a nanobot that serves it."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.cli.running import Ran, environ_of, run, run_in
from tests.doubles.terminal import in_terminal
from tests.process.harness import World
from tests.test_docs_commands import KNOWN


@asynccontextmanager
async def served(world: World) -> AsyncIterator[None]:
    gateway = await world.start()
    yield
    assert await gateway.stop() == 0


async def nanobot(world: World, *arguments: str) -> Ran:
    return await run_in(world, *arguments)


async def test_a_home_that_nobody_serves_is_read_and_no_run_is_started(world: World) -> None:
    sent = await nanobot(world, "send", "say:hello", "--session", "cli:notes")
    assert sent.code == 0
    status = await nanobot(world, "status", "--session", "cli:notes")
    assert "Now: idle, 1 waiting" in status.out
    assert "Gateway: not running" in status.out
    assert (await nanobot(world, "runs", "list")).out == "Nothing found.\n"
    assert "every 2 hours" in (await nanobot(world, "cron", "list")).out
    assert (await nanobot(world, "cron", "list", "--json")).out == "[]\n"
    assert world.model.requests == []


async def test_what_was_sent_without_a_nanobot_is_answered_by_the_next(world: World) -> None:
    await nanobot(world, "send", "say:hello", "--session", "cli:notes")
    async with served(world):
        await world.asked()
        owed: list[dict[str, str]] = []
        while not owed:  # nobody tells; asking takes its time
            owed = (await nanobot(world, "outbox", "list", "--json")).json
        assert [(row["address"], row["text"]) for row in owed] == [("cli:notes", "hello")]


async def test_a_home_that_is_served_is_asked_by_its_socket(world: World) -> None:
    async with served(world):
        world.telegram.say(1, "say:hello")
        await world.answered(1)
        status = (await nanobot(world, "status", "--json")).json
        assert status["serving"]
        assert status["channels"] == {"telegram": "up"}
        (session,) = (await nanobot(world, "sessions", "list", "--json")).json
        assert session["key"] == "telegram:1"
        (view,) = (await nanobot(world, "runs", "list", "--json")).json
        assert (view["state"], view["inbound_ids"]) == ("completed", [1])


async def test_a_run_is_cancelled_from_the_command_line(world: World) -> None:
    async with served(world):
        world.telegram.say(1, "wait:60")
        await world.asked()
        (live,) = (await nanobot(world, "runs", "list", "--state", "live", "--json")).json
        ended = (await nanobot(world, "runs", "cancel", live["id"], "--json")).json
        assert ended["state"] == "aborted"
        assert await world.answered(1) == ["Cancelled."]
        again = await nanobot(world, "runs", "cancel", live["id"])
        assert (again.code, again.err) == (1, f"nanobot: Run {live['id']} has ended already.\n")


async def test_owners_ask_in_a_chat_what_the_command_line_asks(world: World) -> None:
    async with served(world):
        world.telegram.say(1, "say:hello")
        await world.answered(1)
        world.telegram.say(1, "/sessions")
        assert "telegram:1" in (await world.answered(1, 2))[1]
        world.telegram.say(100, "/outbox")
        assert "/outbox list is for owners." in await world.answered(100)


# How commands end


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("runs", "show", "nothing"), 1, "There is no run nothing"),
        (("runs", "list", "--state", "odd"), 2, "state"),
        (("runs",), 2, ""),
        (("sesions",), 2, "No such command 'sesions'"),
        (("sessions", "delete", "cli:direct"), 2, "add --yes"),
        (("config", "get", "agent.modell"), 2, "did you mean agent.model?"),
        (("onboard",), 2, "give --yes"),
        (("audit", "verify", "--head", "xyz"), 2, "is not a head"),
    ],
)
async def test_a_command_that_cannot_be_done_says_why_and_ends_with_its_code(
    world: World, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    ran = await nanobot(world, *arguments)
    assert ran.code == code
    assert reason in ran.err + ran.out
    assert "Traceback" not in ran.err


async def test_a_wrong_configuration_ends_with_3(world: World) -> None:
    world.configure(agent="max_tokens = 0")
    ran = await nanobot(world, "status")
    assert ran.code == 3
    assert "agent.max_tokens" in ran.err


async def test_a_store_that_cannot_be_used_ends_with_4(world: World) -> None:
    (world.home / "state.db").write_bytes(b"this is no database at all" * 100)
    ran = await nanobot(world, "sessions", "list")
    assert ran.code == 4
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("payload", "reason"),
    [("X'7B7D'", "entry 1 of cli:direct was changed"), ("'{}'", "is in quarantine")],
)
async def test_a_changed_log_ends_with_4(world: World, payload: str, reason: str) -> None:
    await nanobot(world, "agent", "-m", "say:hello", "--session", "cli:direct")
    assert (await nanobot(world, "audit", "verify")).code == 0
    with closing(sqlite3.connect(world.home / "state.db")) as connection:
        connection.execute(f"UPDATE entries SET payload = {payload} WHERE seq = 1")
        connection.commit()
    ran = await nanobot(world, "audit", "verify")
    assert (ran.code, ran.out) == (4, "")
    assert reason in ran.err


async def test_a_model_that_cannot_be_reached_ends_with_5(world: World) -> None:
    world.configure(more='[providers.dead]\napi_base = "http://127.0.0.1:9/v1"')
    ran = await nanobot(world, "onboard", "--yes", "--model", "dead/any")
    assert ran.code == 5


async def test_commands_over_one_home_wait_for_each_other(world: World) -> None:
    async with asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(nanobot(world, "sessions", "list")) for _ in range(3)]
    assert [task.result().code for task in both] == [0, 0, 0]


async def test_deleting_asks_first_and_no_is_no(world: World) -> None:
    await nanobot(world, "send", "hello")
    command = ("sessions", "delete", "cli:direct")
    async with in_terminal(command, world.environ(), world.home) as terminal:
        await terminal.shows("Continue?")
        terminal.type("n\r")
        assert await terminal.ended() == 1
    assert len((await nanobot(world, "sessions", "list", "--json")).json) == 1
    gone = await nanobot(world, "sessions", "delete", "cli:direct", "--yes", "--json")
    assert gone.json == {"key": "cli:direct", "entries": 0}
    assert (await nanobot(world, "sessions", "list", "--json")).json == []


# How they look


SHOWN_WHOLE = {"sessions": "key", "runs": "id", "outbox": "address"}
"""Titles are cut where they are made."""


async def test_tables_fit_a_terminal_and_are_whole_in_a_pipe(world: World) -> None:
    long = "a word in Chinese: 你好 " * 20
    await nanobot(world, "send", f"say:{long}", "--session", "cli:a-session-with-a-long-name")
    await nanobot(world, "agent", "-m", f"say:{long}")
    for command in ("sessions", "runs", "outbox"):
        async with in_terminal((command, "list"), world.environ(), world.home) as terminal:
            assert await terminal.ended() == 0
            assert max(map(len, terminal.screen.lines)) <= 80
        ran = await nanobot(world, command, "list")
        assert ran.code == 0
        rows = (await nanobot(world, command, "list", "--json")).json
        assert all(str(row[SHOWN_WHOLE[command]]) in ran.out for row in rows)
        assert "\x1b" not in ran.out
    runs = (await nanobot(world, "runs", "list", "--json")).json
    table = (await nanobot(world, "runs", "list")).out
    assert all(run["id"] in table for run in runs)
    page = await nanobot(world, "runs", "show", runs[0]["id"][:12], "--json")
    assert page.json["run"]["id"] == runs[0]["id"]


async def test_colour_is_for_terminals(world: World) -> None:
    await nanobot(world, "send", "hello")
    command = ("sessions", "list")
    async with in_terminal(command, world.environ(), world.home) as terminal:
        assert await terminal.ended() == 0
        assert "\x1b[1mkey" in terminal.screen.raw


async def test_an_export_is_one_json_document(world: World) -> None:
    await nanobot(world, "agent", "-m", "say:hello", "--session", "cli:direct")
    page = json.loads((await nanobot(world, "sessions", "export", "--json")).out)
    assert page["session"]["key"] == "cli:direct"
    assert [entry["seq"] for entry in page["entries"]] == [1, 2, 3, 4]


async def test_help_is_there_for_every_group_and_needs_no_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    whole = (await run(environ_of(home), "--help")).out
    commands, _, others = whole.partition("Commands:")[2].partition("More:")
    assert len(commands.strip().splitlines()) == 10
    assert len(whole.splitlines()) <= 30
    assert "..." not in commands
    for group in ("sessions", "runs", "outbox", "tools", "audit", "config"):
        assert re.search(rf"\b{group}\b", others if group in others else commands)
        ran = await run(environ_of(home), group, "--help")
        assert ran.code == 0
        assert "Commands:" in ran.out
    assert not home.exists()


async def test_every_command_shows_an_example_of_itself() -> None:
    for name, command in KNOWN.items():
        example = re.search(r"Example: (nanobot .*)", command.epilog or "")
        assert example, name
        assert example[1].startswith(f"nanobot {name}"), name
        assert len(f"  Example: {example[1]}") <= 80, f"{name}: its example is broken in two"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("runs list --kind odd", "'--kind': 'odd' is not one of 'chat', 'task'."),
        ("usage --days soon", "'--days': it is not a whole number."),
        ("runs feedback sideways", "'VERDICT': 'sideways' is not one of 'up', 'down'."),
    ],
)
async def test_a_wrong_value_is_told_in_words(tmp_path: Path, command: str, words: str) -> None:
    ran = await run(environ_of(tmp_path / "home"), *command.split())
    assert (ran.code, words in ran.err) == (2, True), ran.err
    assert "Value error" not in ran.err


async def test_the_help_of_a_group_cuts_no_sentence(tmp_path: Path) -> None:
    for group in ("db", "runs", "mcp", "security", "web tokens"):
        ran = await run(environ_of(tmp_path / "home"), *group.split(), "--help")
        listed = ran.out.partition("Commands:")[2]
        assert listed.strip()
        assert "..." not in listed, group
        assert max(map(len, ran.out.splitlines())) <= 80


async def test_the_types_of_channels_are_told_with_their_keys(world: World) -> None:
    text = (await nanobot(world, "channels", "types")).out
    assert "`telegram` Telegram (gold): token\nOn Telegram, send /newbot" in text
    assert "secret" not in text.partition("`telegram`")[2].partition("`udp`")[0]


async def test_choices_are_choices_and_defaults_are_named(world: World) -> None:
    ran = await nanobot(world, "runs", "list", "--help")
    assert "--kind <chat|task>" in ran.out
    assert "(default: 20)" in ran.out
    ran = await nanobot(world, "runs", "list", "--kind", "odd")
    assert (ran.code, "'odd' is not one of 'chat', 'task'" in ran.err) == (2, True)
    ran = await nanobot(world, "cron", "add", "--send", "+20m Stretch!", "--to", "telegram:1")
    assert ran.code == 0, ran.err


async def test_a_session_is_named_by_its_option_everywhere(world: World) -> None:
    await nanobot(world, "agent", "-m", "say:hello", "--session", "cli:a")
    for command in ("show", "export", "mark-read"):
        by_option = await nanobot(world, "sessions", command, "--session", "cli:a", "--json")
        by_place = await nanobot(world, "sessions", command, "cli:a", "--json")
        assert (by_option.code, by_option.out) == (0, by_place.out)
    both = await nanobot(world, "sessions", "show", "cli:a", "--session", "cli:b")
    assert (both.code, "two sessions: cli:a and cli:b" in both.err) == (2, True)


def test_completion_is_installed_and_completes(tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "nanobot"
    # The library asks which shell it runs in; in a test it is told.
    variables = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [script, "--install-completion", "bash"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "nanobot" in (tmp_path / ".bashrc").read_text()
    typed = {"_NANOBOT_COMPLETE": "complete_bash", "COMP_WORDS": "nanobot ru", "COMP_CWORD": "1"}
    done = subprocess.run(
        [script], env=variables | typed, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["runs"]
