"""Cases are asked of models over the wire; their tools answer from the recording, and the better
model wins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nanobot.api import Agent
from nanobot.errors import ConfigError, ModelUnreachable, UsageError
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.evals.report import as_text
from tests.doubles.openai_server import Answer, Body, OpenAIServer
from tests.plugins.evals.home import WEATHER, EvalHome, asks_search, forecast, text_of, told


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer(forecast) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: OpenAIServer) -> EvalHome:
    home = EvalHome(tmp_path / "home", server)
    home.case(WEATHER)
    return home


async def test_of_two_models_the_one_that_looks_it_up_wins(home: EvalHome) -> None:
    made = await home.call("evals run", models="fake/good,fake/bad", runs=3)
    good, bad = made.results
    assert (good.model, good.state, good.passed, good.variance) == ("fake/good", "passed", 3, 0.0)
    assert (bad.model, bad.state, bad.passed) == ("fake/bad", "failed", 0)
    assert "web_search was not called; called: no tool" in bad.why
    assert not made.passed
    assert "fake/good: 1 of 1 case passed." in as_text(made)


async def test_a_model_that_passes_only_sometimes_fails_and_its_variance_is_told(
    home: EvalHome, server: OpenAIServer
) -> None:
    asked = 0

    def moody(body: Body) -> Answer:
        nonlocal asked
        if told(body):
            return Answer("Rain.")
        asked += 1
        return asks_search() if asked % 2 else Answer("No idea.")

    server.script = moody
    made = await home.call("evals run", models="fake/good", runs=4)
    (result,) = made.results
    assert (result.state, result.passed, result.runs, result.variance) == ("failed", 2, 4, 0.25)
    assert "2/4" in as_text(made)
    assert result.cost is not None
    assert result.cost_deviation


async def test_a_call_without_a_recording_is_refused_and_marked(
    home: EvalHome, server: OpenAIServer
) -> None:
    server.script = lambda body: (
        Answer(f"It said: {told(body)[0]}") if told(body) else asks_search("Bergen weather")
    )
    made = await home.call("evals run", models="fake/good")
    (result,) = made.results
    assert result.unrecorded == 1
    assert result.attempts[0].unrecorded == ('web_search {"query": "Bergen weather"}',)
    assert "not executed: this call is not in the recording" in result.attempts[0].answer
    assert "1 attempt(s) made calls without a recording" in as_text(made)


async def test_no_tool_runs_even_one_that_the_home_has(
    home: EvalHome, server: OpenAIServer
) -> None:
    case = WEATHER.replace('name = "message"', 'name = "write_file"')
    home.case(case.replace('before = "message"', ""))
    file = '{"path": "made.txt", "content": "x"}'
    server.script = lambda body: (
        Answer("rain") if told(body) else Answer(tool_calls=[("write_file", file)])
    )
    made = await home.call("evals run", models="fake/good")
    assert made.results[0].unrecorded == 1
    assert not list(home.folder.rglob("made.txt"))


async def test_a_judge_decides_by_rubric_and_its_reasons_are_kept(
    home: EvalHome, server: OpenAIServer
) -> None:
    home.case('[[messages]]\nrole = "user"\ncontent = "Hi"\n[[checks]]\nrubric = "Be polite."\n')

    def judges(body: Body) -> Answer:
        if body["model"].endswith("judge"):
            polite = str("Good day" in text_of(body)).lower()
            return Answer(f'{{"reason": "It greets: {polite}.", "passed": {polite}}}')
        return Answer("Good day!" if body["model"].endswith("good") else "What?")

    server.script = judges
    made = await home.call("evals run", models="fake/good,fake/bad", judge="fake/judge")
    good, bad = made.results
    assert (good.state, bad.state) == ("passed", "failed")
    assert good.attempts[0].verdicts[0].reason == "fake/judge: It greets: true."
    assert "It greets: false." in bad.why


async def test_a_judge_that_gives_no_verdict_passes_nothing(
    home: EvalHome, server: OpenAIServer
) -> None:
    home.case('[[messages]]\nrole = "user"\ncontent = "Hi"\n[[checks]]\nrubric = "Polite."\n')
    server.script = lambda _body: Answer("I would say yes")
    (result,) = (await home.call("evals run", models="fake/good")).results
    assert result.state == "failed"
    assert "fake/good gave no verdict: 'I would say yes'" in result.why


async def test_what_it_spends_counts_and_a_limit_of_its_own_ends_it(home: EvalHome) -> None:
    home.configure("\n[evals]\nmax_cost = 0.000001\n")
    async with home.serving() as parts:
        made = await parts.operations.call("evals run", {"models": "fake/bad", "runs": 20})
        usage = await parts.operations.call("usage", {})
    assert "(evals.max_cost) is reached" in made.stopped
    assert {attempt.state for attempt in made.results[0].attempts} == {"failed", "not_run"}
    (day,) = [each for each in usage.limits if (each.level, each.measure) == ("all", "cost")]
    assert day.used == pytest.approx(made.spent)
    assert made.spent > 0


async def test_the_budget_of_the_day_holds_for_evals_too(home: EvalHome) -> None:
    home.configure("\n[budgets]\ncost_per_day = 0.0000001\n")
    made = await home.call("evals run", models="fake/good")
    assert made.results[0].state == "not_run"
    assert made.stopped
    assert home.server.requests == []


async def test_junit_has_a_test_for_each_attempt(home: EvalHome, tmp_path: Path) -> None:
    file = tmp_path / "out.xml"
    await home.call("evals run", models="fake/good,fake/bad", runs=2, junit=str(file))
    suites = ElementTree.fromstring(file.read_text()).findall("testsuite")
    assert [(s.get("name"), s.get("tests"), s.get("failures")) for s in suites] == [
        ("fake/good", "2", "0"),
        ("fake/bad", "2", "2"),
    ]
    failure = suites[1].find("testcase/failure")
    assert failure is not None
    assert "web_search was not called" in (failure.text or "")


async def test_a_report_replaces_no_file_that_is_not_xml(home: EvalHome, tmp_path: Path) -> None:
    file = tmp_path / "precious.xml"
    file.write_text("mine")
    async with home.serving() as parts:
        with pytest.raises(UsageError, match=r"precious\.xml exists and is not XML"):
            await parts.operations.call("evals run", {"junit": str(file)})
    assert file.read_text() == "mine"


async def test_a_model_that_cannot_be_reached_is_an_error_of_its_own(home: EvalHome) -> None:
    home.configure('\n[providers.gone]\napi_key = "x"\napi_base = "http://127.0.0.1:9/v1"\n')
    async with home.serving() as parts:
        with pytest.raises(ModelUnreachable, match=r"gone/m could not be tested"):
            await parts.operations.call("evals run", {"models": "gone/m,fake/good"})
        (kept,) = await parts.operations.call("evals show", {})
    assert [result.state for result in kept.results] == ["unreachable", "passed"]


async def test_a_program_gets_what_json_prints(home: EvalHome) -> None:
    async with Agent.open(home.folder) as agent:
        made = await agent.eval(home.folder / "evals", models=["fake/good", "fake/bad"], runs=2)
    assert [result["state"] for result in made["results"]] == ["passed", "failed"]


async def test_a_model_that_is_not_configured_is_named(home: EvalHome) -> None:
    async with home.serving() as parts:
        call = parts.operations.call
        with pytest.raises(ConfigError, match=r'^models: the model is "nowhere/model", but there'):
            await call("evals run", {"models": "nowhere/model"})
    home.case('[[messages]]\nrole = "user"\ncontent = "Hi"\n[[checks]]\nrubric = "Polite."\n')
    home.configure('\n[evals]\nmodels = ["fake/good"]\njudge = "gone"\n[providers.other]\n')
    async with home.serving() as parts:
        with pytest.raises(ConfigError, match=r'^evals\.judge: the model is "gone" without its'):
            await parts.operations.call("evals run", {})


async def test_a_thumb_down_becomes_a_case_that_fails_until_the_answer_is_better(
    home: EvalHome, server: OpenAIServer
) -> None:
    (home.folder / "evals" / "weather.toml").unlink()
    answer = "Sunny."

    def judged(body: Body) -> Answer:
        shown = text_of(body)
        if "<rubric>" not in shown:
            return Answer(answer)
        assert "You did not look it up" in shown
        good = str("<answer>\nRain.\n" in shown).lower()
        return Answer(f'{{"reason": "checked", "passed": {good}}}')

    server.script = judged
    async with home.serving() as parts:
        call = parts.operations.call
        asked = RunInput(
            run_id="r1",
            session_key="cli:x",
            messages=[{"role": "user", "content": "Rain in Oslo?"}],
        )
        ends = [each async for each in parts.plugged.offers.get(RunService).stream(asked)]
        assert isinstance(ends[-1], RunResult)
        run = (await call("runs list", {}))[0].id
        said = {"verdict": "down", "text": "You did not look it up", "run": run}
        await call("runs feedback", said)
        (rejected,) = await call("evals rejected", {})
        assert (rejected.run_id, rejected.case) == (run, "")
        exported = await call("runs export", {"run": run})
        added = await call("evals add", {"run": run})
        assert Path(added.file).read_text() == exported.toml  # noqa: ASYNC240 - a small file
        assert (await call("evals rejected", {}))[0].case == added.name
        assert (await call("evals run", {})).results[0].state == "failed"
        answer = "Rain."
        assert (await call("evals run", {})).results[0].state == "passed"
        (listed,) = await call("evals list", {})
    assert listed.last == {"fake/good": "passed"}
    assert listed.run == run
