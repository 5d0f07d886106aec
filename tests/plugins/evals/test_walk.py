"""The walk of docs/evals.md, from a thumb down to a regression test, as it is written there."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from tests.cli.running import Ran, environ_of, run
from tests.doubles.openai_server import Answer, Body, OpenAIServer
from tests.plugins.evals.home import EvalHome, text_of

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "evals.md").read_text("utf-8")
WALK = PAGE.partition("## From a thumb down to a regression test\n")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^ {8}nanobot (.+)$", WALK, re.MULTILINE)


def answers(body: Body) -> Answer:
    """`good` knows by now; `bad` guesses still. Both judge by what they are shown."""
    shown = text_of(body)
    if "<rubric>" in shown:
        good = str("<answer>\nRain.\n" in shown).lower()
        return Answer(f'{{"reason": "compared", "passed": {good}}}')
    return Answer("Rain." if body["model"].endswith("good") else "Sunny.")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[EvalHome]:
    async with OpenAIServer(answers) as server:
        yield EvalHome(tmp_path / "home", server)


async def rejected_run(home: EvalHome) -> str:
    """A run whose answer has a thumb down."""
    model = home.server.script
    home.server.script = lambda _: Answer("Sunny.")
    async with home.serving() as parts:
        question = RunInput(
            session_key="cli:x", messages=[{"role": "user", "content": "Rain in Oslo?"}]
        )
        ends = [each async for each in parts.plugged.offers.get(RunService).stream(question)]
        assert isinstance(ends[-1], RunResult)
        (made,) = await parts.operations.call("runs list", {})
        said = {"verdict": "down", "text": "It rained", "run": made.id}
        await parts.operations.call("runs feedback", said)
    home.server.script = model
    return str(made.id)


async def test_the_commands_of_the_walk_lead_from_a_thumb_to_a_failing_and_a_passing_test(
    home: EvalHome,
) -> None:
    rejected = await rejected_run(home)
    environ = environ_of(home.folder)

    async def walked(command: str) -> Ran:
        words = command.replace("01m80aj3rq", rejected)
        words = words.replace("openai/gpt-4.1-mini,ollama/qwen3", "fake/good,fake/bad")
        return await run(environ, *shlex.split(words))

    listing, adding, evaluating, comparing = COMMANDS
    assert adding.startswith("evals add ")
    listed = await walked(listing)
    assert (listed.code, "It rained" in listed.out) == (0, True), listed.err
    added = await walked(adding)
    assert added.code == 0, added.err
    (file,) = (home.folder / "evals").glob("*.toml")
    assert file.stem in added.out
    assert 'rubric = "A person rejected this answer' in file.read_text()

    passed = await walked(evaluating)
    assert (passed.code, "1/1" in passed.out) == (0, True), passed.out + passed.err
    home.configure("\n[evals]\nmodels = ['fake/bad']\njudge = 'fake/good'\n")
    failed = await walked(evaluating)
    assert (failed.code, "0/1" in failed.out) == (1, True), failed.out + failed.err
    compared = await walked(comparing)
    assert compared.code == 1
    assert "fake/good: 1 of 1 case passed." in compared.out
    assert "fake/bad: 0 of 1 case passed." in compared.out
    assert "5/5" in compared.out


def test_the_walk_has_the_commands_that_the_test_takes() -> None:
    assert [command.split()[0] for command in COMMANDS] == ["evals", "evals", "eval", "eval"]
