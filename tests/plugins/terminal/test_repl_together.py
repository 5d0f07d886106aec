"""Several terminals over one home: who sees what, who serves, and what one finds who comes back."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from tests.cli.talking import Home, answered
from tests.doubles.terminal import CTRL_C, CTRL_D, ENTER, Terminal

WAITS = 'tool:exec:{"command": "until [ -e go ]; do sleep 0.05; done"}'
RUNNING = "exec until [ -e go ]; do sleep 0.05; done"


async def test_each_terminal_shows_what_is_asked_in_the_other(home: Home) -> None:
    async with home.terminal() as first, home.terminal() as second:
        first.type("say:one" + ENTER)
        await answered(first, "one")
        await second.until(lambda: shows_in_order(second, "> say:one", "one"))
        second.type("say:two" + ENTER)
        await answered(second, "two")
        await first.until(lambda: shows_in_order(first, "> say:one", "one", "> say:two", "two"))
        assert first.screen.text.count("two") == second.screen.text.count("two")
        assert "From before:" not in first.screen.text + second.screen.text


async def test_when_the_terminal_that_serves_leaves_the_other_takes_over(home: Home) -> None:
    async with home.terminal() as first, home.terminal() as second:
        first.type(CTRL_D)
        assert await first.ended() == 0
        await second.shows("Connected again.")
        second.type("say:still here" + ENTER)
        await answered(second, "still here")
        async with home.terminal() as third:
            third.type("say:all of us" + ENTER)
            await answered(third, "all of us")
            await second.shows("> say:all of us")


async def test_a_conversation_that_goes_on_says_so_and_shows_its_last_lines(home: Home) -> None:
    async with home.terminal() as terminal:
        assert "resumes (last" not in terminal.screen.text
        terminal.type("say:the last words" + ENTER)
        await answered(terminal, "the last words")
        terminal.type(CTRL_D)
        await terminal.ended()
    async with home.terminal() as terminal:
        assert "cli:direct resumes (last entry" in terminal.screen.text
        assert "`nanobot agent --new` begins" in terminal.screen.text
        assert shows_in_order(terminal, "> say:the last words", "  the last words")
    async with home.terminal("--new") as terminal:
        assert "resumes (last" not in terminal.screen.text


async def test_who_comes_back_sees_what_runs_and_for_how_long(home: Home) -> None:
    async with home.gateway():
        async with home.terminal() as terminal:
            terminal.type(WAITS + "\\" + ENTER + "say:done" + ENTER)
            await terminal.shows(f"{RUNNING} · ")
            await asyncio.sleep(2.2)  # so long it runs when somebody comes back
            terminal.type(CTRL_D)
            assert await terminal.ended() == 0
            assert "cut off" not in terminal.screen.text
            assert any(line.startswith("– exec") for line in terminal.screen.lines)
            assert terminal.screen.lines[-1].startswith("The answer will wait for you here")
        async with home.terminal() as terminal:
            await terminal.shows(f"{RUNNING} · ")
            status = next(line for line in terminal.screen.lines if RUNNING in line and "·" in line)
            assert int(status.split(" · ")[1].split()[0]) >= 2
            (home.workspace / "go").touch()
            await answered(terminal, "done")


async def test_who_comes_back_to_a_question_finds_it_there(home: Home) -> None:
    question = 'tool:ask_user:{"question": "Which one?", "choices": ["this", "that"]}'
    async with home.gateway():
        async with home.terminal() as terminal:
            terminal.type(question + "\\" + ENTER + "say:thanks" + ENTER)
            await terminal.shows("waiting for your answer")
            terminal.type(CTRL_D)
            await terminal.ended()
        async with home.terminal() as terminal:
            await terminal.shows("waiting for your answer")
            await terminal.until(lambda: shows_in_order(terminal, "Which one?", "2. that"))
            terminal.type("neither" + ENTER)
            await answered(terminal, "thanks")
            assert "> neither" in terminal.screen.lines
            assert "(waiting)" not in terminal.screen.text


async def test_stopping_puts_what_waited_back_on_the_prompt(terminal: Terminal) -> None:
    terminal.type(WAITS + ENTER)
    await terminal.shows(f"{RUNNING} · ")
    terminal.type("and then this" + ENTER)
    await terminal.shows("> and then this  (waiting)")
    terminal.type(CTRL_C)
    await terminal.shows("Your queued text is back on the prompt")
    await terminal.until(lambda: terminal.screen.lines[-1] == "> and then this")


@pytest.mark.parametrize("word", ["exit", "Quit", "/quit"])
async def test_a_plain_word_leaves(home: Home, word: str, terminal: Terminal) -> None:
    terminal.type(word + ENTER)
    assert await terminal.ended() == 0
    assert home.model.requests == []


async def test_a_plain_yes_answers_what_the_terminal_is_asked(home: Home) -> None:
    with (home.folder / "config.toml").open("a") as config:
        config.write('[[policy.rules]]\ntool = "exec"\nverdict = "ask"\n')
    async with home.terminal() as terminal:
        terminal.type('tool:exec:{"command": "echo one"}\\' + ENTER + "say:done" + ENTER)
        await terminal.shows("Type a number, or answer in your own words.")
        await delivered(home)  # a yes from before counts for nothing
        terminal.type("yes" + ENTER)
        await terminal.shows("Approved: exec (#1)")
        await answered(terminal, "done")


async def delivered(home: Home) -> None:
    """Wait until it is recorded that everything was shown."""
    async with asyncio.timeout(30):
        while True:
            with closing(sqlite3.connect(home.folder / "state.db")) as store:
                (left,) = store.execute(
                    "SELECT count(*) FROM outbound WHERE state IN ('pending', 'sending')"
                ).fetchone()
            if not left:
                return
            await asyncio.sleep(0.02)


async def test_paths_after_an_at_sign_are_completed_and_files_go_along(home: Home) -> None:
    (home.folder / "notes.txt").write_text("the secret is 42", encoding="utf-8")
    async with home.terminal() as terminal:
        terminal.type("what is in @not")
        await terminal.shows("notes.txt")
        terminal.type("\t" + ENTER)
        await terminal.shows("the secret is 42")
    assert "the secret is 42" in str(home.model.requests[0])


async def test_a_folder_has_its_conversations_and_one_can_be_chosen(home: Home) -> None:
    async with home.terminal("--new") as terminal:
        terminal.type("say:about the roof" + ENTER)
        await answered(terminal, "about the roof")
        terminal.type(CTRL_D)
        await terminal.ended()
    async with home.terminal("--new") as terminal:
        terminal.type("say:about the cellar" + ENTER)
        await answered(terminal, "about the cellar")
        terminal.type(CTRL_D)
        await terminal.ended()
    async with home.resuming() as terminal:
        await terminal.shows("Number [1]:")
        assert shows_in_order(terminal, "about the cellar", "about the roof")
        terminal.type("2" + ENTER)
        await terminal.until(lambda: shows_in_order(terminal, "leaves.", "> say:about the roof"))
        await terminal.until(lambda: "  about the roof" in terminal.screen.lines[-4:])


def shows_in_order(terminal: Terminal, *texts: str) -> bool:
    """Whether lines that end with these stand there, one below the other."""
    lines = iter(terminal.screen.lines)
    return all(any(line.endswith(text) for line in lines) for text in texts)
