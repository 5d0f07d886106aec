"""`nanobot agent` as a person at a terminal meets it: keys in, a screen out."""

from __future__ import annotations

import asyncio
import re
import stat

from tests.cli.talking import Home, answered
from tests.doubles.openai_server import Answer, Fault
from tests.doubles.terminal import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    CTRL_R,
    ENTER,
    PATIENCE,
    TAB,
    UP,
    Terminal,
)
from tests.process.harness import World

COLOUR = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m")
LONG = "\n\n".join(f"## Part {n}\n\n- one of {n}\n- two of {n}" for n in range(20))


async def test_an_answer_ends_as_drawn_markdown(terminal: Terminal) -> None:
    terminal.type("say:It is **bold** and `code`." + ENTER)
    await answered(terminal, "It is bold and code.")
    terminal.type(CTRL_D)
    assert await terminal.ended() == 0
    typed = "> say:It is **bold** and `code`."
    assert terminal.screen.lines[-3:] == ["", typed, "It is bold and code."]


async def test_an_answer_taller_than_the_screen_is_whole_in_the_scrollback(home: Home) -> None:
    home.model.script = lambda body: Answer(text=LONG)
    async with home.terminal(rows=12) as terminal:
        terminal.type("go" + ENTER)
        await answered(terminal, " • two of 19")
        drawn = [line.strip(" •") for line in terminal.screen.lines if line]
        whole = [line.lstrip("-# ") for line in LONG.splitlines() if line]
        assert drawn[drawn.index("Part 0") : -1] == whole


async def test_a_tool_call_is_one_line(terminal: Terminal) -> None:
    terminal.type('tool:exec:{"command": "echo one"}' + ALT_ENTER + "say:done" + ENTER)
    await answered(terminal, "done")
    (line,) = [line for line in terminal.screen.lines if line.startswith("✓")]
    assert re.fullmatch(r"✓ exec echo one  \d+\.\d s", line)


async def test_what_is_typed_during_a_run_waits_and_joins_it(home: Home) -> None:
    waits = 'tool:exec:{"command": "until [ -e go ]; do sleep 0.05; done"}'
    async with home.terminal() as terminal:
        terminal.type(waits + ENTER)
        await terminal.shows("exec until [ -e go ]; do sleep 0.05; done · ")
        terminal.type("say:both" + ENTER)
        await terminal.shows("> say:both  (waiting)")
        (home.workspace / "go").touch()
        await terminal.shows("This also answers your latest message")
        lines = terminal.screen.lines
        assert lines.index("> say:both") < lines.index("both")
        assert "(waiting)" not in terminal.screen.text


async def test_ctrl_c_stops_the_run_and_not_the_program(home: Home) -> None:
    home.model.fail_with(Fault(hang_after=4, answer=Answer(text="one two three four five")))
    async with home.terminal() as terminal:
        terminal.type("go" + ENTER)
        await terminal.shows("one two three")
        terminal.type(CTRL_C)
        await terminal.shows("Stopped.")
        terminal.type("say:still here" + ENTER)
        await answered(terminal, "still here")
        assert terminal.screen.text.count("one two three") == 1


async def test_with_nothing_running_ctrl_c_clears_the_line_and_twice_leaves(home: Home) -> None:
    async with home.terminal() as terminal:
        terminal.type("half a thought")
        await terminal.shows("> half a thought")
        terminal.type(CTRL_C)
        await terminal.shows("Ctrl-C again leaves")
        assert terminal.screen.lines[-1] == ">"
        terminal.type(CTRL_C)
        assert await terminal.ended() == 130


async def test_what_was_typed_is_remembered_by_its_owner_alone(home: Home) -> None:
    async with home.terminal() as terminal:
        terminal.type("say:first" + ALT_ENTER + "say:second" + ENTER)
        await answered(terminal, "second")
        terminal.type(CTRL_D)
        await terminal.ended()
    assert stat.S_IMODE((home.folder / "history").stat().st_mode) == 0o600
    async with home.terminal() as terminal:
        terminal.type(UP)
        await terminal.until(lambda: terminal.screen.lines[-2:] == ["> say:first", "  say:second"])
        terminal.type(CTRL_C + CTRL_R + "fir")
        await terminal.shows("I-search backward: fir")
        terminal.type(CTRL_C)
        await terminal.until(lambda: terminal.screen.lines[-1] == ">")
        terminal.type(CTRL_R + "fir" + ENTER)
        await terminal.until(lambda: terminal.screen.lines[-2:] == ["> say:first", "  say:second"])


async def test_a_backslash_or_a_paste_makes_more_lines(terminal: Terminal) -> None:
    terminal.type("say:a\\" + ENTER + "say:b\x1b[200~\nsay:c\nsay:d\x1b[201~" + ENTER)
    await terminal.until(lambda: terminal.screen.lines[-6:-2] == ["a", "b", "c", "d"])


async def test_what_is_typed_in_another_encoding_is_said_and_remembered(terminal: Terminal) -> None:
    """As what is piped: with a mark for what is not UTF-8."""
    terminal.type("say:gr\xfcn" + ENTER, "latin-1")
    await terminal.until(lambda: "gr\ufffdn" in terminal.screen.lines)
    terminal.type("say:next" + ENTER)
    await terminal.until(lambda: "next" in terminal.screen.lines)
    assert "Traceback" not in terminal.screen.text


async def test_tab_completes_commands_and_models(terminal: Terminal) -> None:
    terminal.type("/mo")
    await terminal.shows("show or change the model")
    terminal.type(TAB + " test/sc")
    await terminal.until(lambda: terminal.screen.lines[-1].strip() == "test/scripted")
    terminal.type(TAB + ENTER)
    await terminal.shows("This session now uses test/scripted")


async def test_without_colour_nothing_is_coloured_or_bold(home: Home) -> None:
    async with home.terminal(NO_COLOR="1") as terminal:
        terminal.type("say:# Title" + ALT_ENTER + "say:`code`" + ENTER)
        await answered(terminal, "code")
        assert not COLOUR.search(terminal.screen.raw)


async def test_a_dumb_terminal_gets_plain_text(home: Home) -> None:
    async with home.terminal(TERM="dumb") as terminal:
        terminal.type("say:`code`\n")
        await terminal.shows("\n`code`\n>")
        assert "\x1b" not in terminal.screen.raw


async def test_what_a_model_says_cannot_move_the_cursor(home: Home) -> None:
    home.model.script = lambda body: Answer(text="a\x1b[2Jb\x1b]0;title\x07c\x9b31md")
    async with home.terminal() as terminal:
        terminal.type("go" + ENTER)
        await answered(terminal, "abc31md")
        assert "\x1b[2J" not in terminal.screen.raw
        assert "title" not in terminal.screen.raw


async def test_at_forty_columns_nothing_is_lost(home: Home) -> None:
    text = "日本語のテキストは二倍の幅があります。" * 3 + "🎉 and words that go on " * 3 + "\n\nend"
    home.model.script = lambda body: Answer(text=text)
    async with home.terminal(columns=40) as terminal:
        terminal.type("go" + ENTER)
        await answered(terminal, "end")
        lines = terminal.screen.lines
        drawn = "".join(lines[lines.index("> go") + 1 : -1])
        assert drawn.replace(" ", "") == "".join(text.split())


async def test_an_answer_that_nobody_saw_comes_first_and_is_marked(home: Home) -> None:
    waits = 'tool:exec:{"command": "until [ -e go ]; do sleep 0.05; done"}'
    async with home.gateway():
        async with home.terminal() as terminal:
            terminal.type(waits + ALT_ENTER + "say:at last" + ENTER)
            await terminal.shows("exec until [ -e go ]; do sleep 0.05; done · ")
            terminal.type(CTRL_D)
            assert await terminal.ended() == 0
            assert "The answer will wait for you here" in terminal.screen.lines[-1]
        (home.workspace / "go").touch()
        await home.at_rest()
        async with home.terminal() as terminal:
            await answered(terminal, "at last")
            lines = terminal.screen.lines
            assert lines[lines.index("at last") - 2] == "From before:"
            terminal.type("say:now" + ENTER)
            await answered(terminal, "now")
            assert terminal.screen.text.count("From before:") == 1


async def test_when_the_gateway_goes_it_says_so_and_goes_on_when_it_is_back(home: Home) -> None:
    async with home.gateway() as gateway, home.terminal() as terminal:
        terminal.type("say:before" + ENTER)
        await answered(terminal, "before")
        await gateway.kill()
        await terminal.shows("`nanobot gateway` in another terminal starts")
        terminal.type("say:meanwhile" + ENTER)
        await terminal.shows("(not connected; sent when it is back)")
        async with home.gateway():
            await terminal.shows("Connected again.")
            await answered(terminal, "meanwhile")


async def test_ctrl_c_ends_a_command_with_all_its_processes(home: Home, terminal: Terminal) -> None:
    terminal.type('tool:exec:{"command": "echo $$ > pid; sleep 300.375; true"}' + ENTER)
    await terminal.shows("exec echo $$ > pid")
    await terminal.until((home.workspace / "pid").exists)
    terminal.type(CTRL_C)
    await terminal.shows("Stopped.")
    async with asyncio.timeout(PATIENCE):
        while World.processes("sleep", "300.375"):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)


async def test_a_terminal_and_a_gateway_that_die_lose_no_answer(home: Home) -> None:
    home.model.fail_with(Fault(hang=True))
    async with home.gateway(), home.terminal() as terminal:
        terminal.type("say:late" + ENTER)
        await terminal.shows("thinking")
        await home.model.asked.wait()
        await terminal.kill()
    async with home.gateway(), home.terminal() as terminal:
        await terminal.shows("From before:")
        await answered(terminal, "late")
