"""The walk in docs/quick-start.md is what a person sees who types the same."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from nanobot import __version__
from nanobot.plugins.auto.finding import find
from tests.cli.talking import Home, answered
from tests.doubles.openai_server import Answer, Body, Fault, OpenAIServer
from tests.doubles.terminal import CTRL_D, ENTER, Screen

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "quick-start.md"
COUNTING = "Count to a million, please."
CAN = """I can

- answer **questions**, and draft what you want to write
- work with the files in my folder, `~/.nanobot/workspace`
- run commands there, in a sandbox"""
WHERE = '{"question": "Where to?", "choices": ["the sea", "the mountains"]}'
SUNDAY = "A lake it is: swim in the morning, a picnic at noon."
ANSWERS = {
    "What is the capital of Mongolia?": "Ulaanbaatar.",
    "How many people live there?": "About 1.7 million.",
    "three": "Three.",
    "milk, bread": "Milk and bread.",
}
WORK = [
    ("write_file", '{"path": "hello.txt", "content": "Hello there!"}'),
    ("exec", '{"command": "wc -c hello.txt"}'),
]


def script(body: Body) -> Answer:
    """What the model of the guide says."""
    messages = body["messages"]
    text = [str(m["content"]) for m in messages if m["role"] == "user"][-1]
    if "What can you do?" in text:
        return Answer(CAN)
    for question, answer in ANSWERS.items():
        if question in text.splitlines():
            return Answer(answer)
    if "Plan my Sunday" in text:
        done = messages[-1]["role"] == "tool"
        return Answer(SUNDAY) if done else Answer(tool_calls=[("ask_user", WHERE)])
    if messages[-1]["role"] == "tool":
        return Answer("I wrote `hello.txt`. It has **12** bytes.")
    return Answer(tool_calls=WORK)


def recorded(walk: int) -> tuple[str, list[str]]:
    """The beginning of a walk in the guide up to the greeting's end, and the lines after it."""
    texts = re.findall(
        r"^```console\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    greeting, mark, rest = str(texts[walk]).partition("/help lists")
    return greeting[greeting.index("nanobot 0") :] if mark else greeting, (
        f"{mark}{rest}".splitlines()
    )


def same(line: str) -> str:
    """The line without what differs from day to day."""
    line = re.sub(r"\d+\.\d s\b", "T s", line)
    line = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", line)
    line = re.sub(r"#login=[\w-]+", "#login=CODE", line)
    return re.sub(r"\bup \d+ \w+", "up T", line)


async def test_the_greeting_is_what_the_key_brings_about() -> None:
    choice = await find({}, {"OPENAI_API_KEY": "k"}, {})
    greeting, _ = recorded(0)
    assert " ".join(greeting.split()) == f"nanobot {__version__}: {choice.why}"


async def test_the_walks_are_what_a_person_sees(tmp_path: Path) -> None:
    async with OpenAIServer(script) as model:
        home = Home(tmp_path, model, "openai/gpt-6-luna")
        await walked(home, recorded(0)[1])
        before, expected = recorded(1)
        shown = await walked(home, expected)
        assert [same(line) for line in before.splitlines()[2:]] == shown[-1:]


def at_the_prompt(screen: Screen, line: str) -> bool:
    """Whether the line stands there, and it is the person's turn."""
    *lines, above, prompt = map(same, screen.lines)
    mine = prompt == ">" and (not above or "waiting for your answer" in above)
    return mine and (not line or same(line) in lines)


async def walked(home: Home, expected: list[str]) -> list[str]:
    """Type what a walk types, and see what it shows; returns what stood before that."""
    model, before = home.model, [""]
    async with home.terminal() as terminal:
        screen = terminal.screen
        for line in expected:
            if line == "[Ctrl-D]":
                await answered(terminal, before[-1])
                terminal.type(CTRL_D)
            elif line.startswith("> ") and line not in before:
                if line == "> /stop":
                    await terminal.shows(before[-1])
                else:
                    await terminal.until(lambda: at_the_prompt(screen, before[-1]))
                if line in screen.lines:  # of the conversation before
                    continue
                if line == f"> {COUNTING}":
                    counted = Answer("1, 2, 3, 4, 5, 6, 7, 8, and so on")
                    model.fail_with(Fault(hang_after=9, answer=counted))
                terminal.type(line[2:] + ENTER)
                if line != "> exit":
                    await terminal.shows(line)
            if line:
                before.append(line)
        assert await terminal.ended() == 0
    shown = [same(line) for line in screen.lines]
    typed = ("[Ctrl-D]", "$", "> exit")
    there = shown.index(same(expected[0]))
    lines = [same(line) for line in expected if line not in typed]
    while not lines[-1]:
        lines.pop()
    assert shown[there:] == lines
    return shown[:there]


async def test_the_commands_of_the_shell_give_what_the_guide_says(tmp_path: Path) -> None:
    nanobot = tmp_path / "bin" / "nanobot"
    nanobot.parent.mkdir()
    nanobot.write_text(f"#!{sys.executable}\nfrom nanobot.cli import main\nmain()\n")
    nanobot.chmod(0o755)
    text, _ = recorded(2)
    async with OpenAIServer(script) as model:
        (tmp_path / "home").mkdir()
        environ = Home(tmp_path / "home", model, "openai/gpt-6-luna").environ()
        environ["PATH"] = f"{nanobot.parent}:{environ['PATH']}"
        for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, answer = block.partition("\n")
            shell = await asyncio.create_subprocess_shell(
                command,
                env=environ,
                cwd=tmp_path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
            output, _ = await shell.communicate()
            assert output.decode() == answer


def test_the_guide_starts_with_a_target_of_the_makefile() -> None:
    makefile = (GUIDE.parent.parent / "Makefile").read_text("utf-8")
    for target in re.findall(r"\bmake (\w+)", GUIDE.read_text("utf-8")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
