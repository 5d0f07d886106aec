"""The walk in docs/quick-start.md is what a person sees who types the same."""

from __future__ import annotations

import re
from pathlib import Path

from nanobot import __version__
from nanobot.providers.model_choice import choose
from tests.cli.talking import Home, answered
from tests.doubles.openai_server import Answer, Body, Fault, OpenAIServer
from tests.doubles.terminal import CTRL_D, ENTER

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "quick-start.md"
COUNTING = "Count to a million, please."
CAN = """I can

- answer **questions**, and draft what you want to write
- work with the files in my folder, `~/.nanobot/workspace`
- run commands there, in a sandbox"""
WORK = [
    ("write_file", '{"path": "hello.txt", "content": "Hello there!"}'),
    ("exec", '{"command": "wc -c hello.txt"}'),
]


def script(body: Body) -> Answer:
    """What the model of the guide says."""
    messages = body["messages"]
    asked = [str(m["content"]) for m in messages if m["role"] == "user"][-1]
    if "What can you do?" in asked:
        return Answer(CAN)
    if messages[-1]["role"] == "tool":
        return Answer("I wrote `hello.txt`. It has **12** bytes.")
    return Answer(tool_calls=WORK)


def recorded() -> tuple[str, list[str]]:
    """The greeting in the guide, and the lines after it."""
    (text,) = re.findall(
        r"^```console\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    greeting, rest = str(text).split("/help shows", 1)
    return greeting[greeting.index("nanobot ") :], f"/help shows{rest}".splitlines()


def same(line: str) -> str:
    """The line without what differs from day to day."""
    line = re.sub(r"\d+\.\d s\b", "T s", line)
    return re.sub(r"\bup \d+ \w+", "up T", line)


async def test_the_greeting_is_what_the_key_brings_about() -> None:
    choice = await choose("auto", {}, {"OPENAI_API_KEY": "k"})
    greeting, _ = recorded()
    assert " ".join(greeting.split()) == f"nanobot {__version__}: {choice.why}"


async def test_the_walk_is_what_a_person_sees(tmp_path: Path) -> None:
    async with OpenAIServer(script) as model:
        home = Home(tmp_path, model, "openai/gpt-5-mini")
        (_, expected), before = recorded(), [""]
        async with home.terminal() as terminal:
            screen = terminal.screen
            for line in expected:
                if line == "[Ctrl-D]":
                    await answered(terminal, before[-1])
                    terminal.type(CTRL_D)
                elif line.startswith("> "):
                    if line == "> /stop":
                        await terminal.shows(before[-1])
                    else:
                        await terminal.until(lambda: screen.lines[-2:] == ["", ">"])
                    if line == f"> {COUNTING}":
                        counted = Answer("1, 2, 3, 4, 5, 6, 7, 8, and so on")
                        model.fail_with(Fault(hang_after=9, answer=counted))
                    terminal.type(line[2:] + ENTER)
                    await terminal.shows(line)
                if line:
                    before.append(line)
            assert await terminal.ended() == 0
        shown = [same(line) for line in screen.lines]
        there = shown.index(same(expected[0]))
        assert shown[there:] == [same(line) for line in expected if line not in ("[Ctrl-D]", "$")]


def test_the_guide_starts_with_a_target_of_the_makefile() -> None:
    makefile = (GUIDE.parent.parent / "Makefile").read_text("utf-8")
    for target in re.findall(r"\bmake (\w+)", GUIDE.read_text("utf-8")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
