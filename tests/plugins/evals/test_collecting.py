"""A real pytest, in a project of its own, collects cases as tests."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doubles.openai_server import OpenAIServer
from tests.plugins.evals.home import WEATHER, EvalHome, forecast

BROKEN = WEATHER.replace('contains = "rain"', 'contain = "rain"')
PATIENCE = 100.0


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[EvalHome]:
    async with OpenAIServer(forecast) as server:
        yield EvalHome(tmp_path / "home", server)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with cases, and files that look a little like some."""
    cases = tmp_path / "project" / "evals"
    cases.mkdir(parents=True)
    (cases / "weather.toml").write_text(WEATHER)
    (cases / ".hidden.toml").write_text(BROKEN)
    (cases.parent / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    (cases.parent / "other.toml").write_text("a = 1\n")
    return cases.parent


async def tested(project: Path, home: EvalHome | None, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of pytest."""
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    environ = kept | {"TZ": "UTC", "NANOBOT_HOME": str(home.folder if home else project / "none")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-p", "no:schemathesis", "-p", "no:cacheprovider"),
        *arguments,
        cwd=project,
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def test_cases_pass_fail_and_are_broken_as_tests(project: Path, home: EvalHome) -> None:
    (project / "evals" / "broken.toml").write_text(BROKEN)
    code, said = await tested(
        project, home, "evals", "-v", "--nanobot-models", "fake/good,fake/bad"
    )
    assert code == 1, said
    assert re.search(r"weather\.toml::weather\[fake/good\] PASSED", said)
    assert re.search(r"weather\.toml::weather\[fake/bad\] FAILED", said)
    # A line of the log may stand between a name and its result: the agent is opened meanwhile.
    assert len(re.findall(r"broken\.toml::broken\[fake/\w+\] (?:\d{4}-.*\n)?FAILED", said)) == 2
    assert "3 failed, 1 passed" in said
    assert "weather failed with fake/bad: calls web_search" in said
    assert "  answer: It will be sunny." in said
    assert "broken.toml: checks[2].contain: there is no such key; known here: called" in said
    assert "Traceback" not in said
    assert "hidden" not in said


async def test_the_models_of_the_configuration_are_tested_by_themselves(
    project: Path, home: EvalHome
) -> None:
    code, said = await tested(project, home, "-v", "--nanobot-runs", "3")
    assert code == 0, said
    assert re.search(r"weather\.toml::weather PASSED", said)
    assert "1 passed" in said
    assert len(home.server.requests) == 6  # two calls an attempt


async def test_cases_elsewhere_are_named_by_a_pattern_or_on_the_command_line(
    project: Path, home: EvalHome
) -> None:
    (project / "evals" / "weather.toml").rename(project / "other.toml")
    (project / "good.eval.toml").write_text(WEATHER)
    assert (await tested(project, home, "--collect-only", "-q"))[1].count("::") == 1
    assert "1 passed" in (await tested(project, home, "other.toml"))[1]
    (project / "pytest.ini").write_text("[pytest]\nnanobot_cases = other.toml\n")
    code, said = await tested(project, home, "-v", "-m", "nanobot_case")
    assert code == 0, said
    assert "other.toml::weather PASSED" in said or "other.toml::other PASSED" in said
    assert "1 passed" in said


async def test_a_model_that_is_gone_fails_its_test_with_the_reason(
    project: Path, home: EvalHome
) -> None:
    home.configure('\n[providers.gone]\napi_key = "x"\napi_base = "http://127.0.0.1:9/v1"\n')
    code, said = await tested(project, home, "--nanobot-models", "gone/m,nowhere/m,fake/good")
    assert code == 1
    assert "gone/m could not be tested" in said
    assert 'models: the model is "nowhere/m", but there is no provider "nowhere"' in said
    assert "2 failed, 1 passed" in said


async def test_the_agent_of_a_gateway_that_serves_the_home_is_asked(
    project: Path, home: EvalHome
) -> None:
    async with home.serving() as parts:
        code, said = await tested(project, home)
        (kept,) = await parts.operations.call("evals show", {}) or [None]
    assert code == 0, said
    assert kept is None  # results of another folder are not those of the home


@pytest.mark.parametrize("plugin", ["evals", "library"])
async def test_a_case_names_the_plugin_that_it_needs_and_other_tests_are_collected(
    project: Path, plugin: str
) -> None:
    (project / "conftest.py").write_text(
        f"import sys\n\nsys.modules['nanobot.plugins.{plugin}'] = None\n"
    )
    (project / "evals" / "test_other.py").write_text("def test_other():\n    pass\n")
    code, said = await tested(project, None, "--continue-on-collection-errors")
    assert code == 1, said
    assert "this case of nanobot evals cannot be tested: nanobot." in said
    assert f"belongs to the plugin {plugin}, which is not there" in said
    assert "1 passed, 1 error" in said
    assert "Traceback" not in said


async def test_a_case_says_how_the_plugin_is_switched_on(project: Path, home: EvalHome) -> None:
    home.configure('\n[plugins]\noff = ["evals"]\n')
    code, said = await tested(project, home)
    assert code == 1, said
    assert "`plugins on evals` switches it on" in said
    assert "1 failed" in said
    assert "Traceback" not in said


async def test_without_a_case_no_more_of_nanobot_is_loaded_than_what_finds_promised_paths(
    project: Path,
) -> None:
    (project / "evals" / "weather.toml").unlink()
    (project / "test_light.py").write_text(
        "import sys\n\ndef test_light():\n"
        "    loaded = {name for name in sys.modules if name.startswith('nanobot')}\n"
        "    loaded -= {'nanobot', 'nanobot.promised', 'nanobot.pytest_cases'}\n"
        "    assert loaded == {'nanobot.plugins', 'nanobot.plugins.pytest_cases'}, loaded\n"
        "    assert not {'sqlalchemy', 'aiohttp', 'msgspec', 'loguru'} & set(sys.modules)\n"
    )
    code, said = await tested(project, None, "-q", "-p", "no:asyncio", "-p", "no:hypothesispytest")
    assert code == 0, said


async def test_without_the_folder_of_plugins_other_tests_go_on(project: Path) -> None:
    (project / "test_light.py").write_text("def test_light():\n    pass\n")
    (project / "without.py").write_text(
        "import sys\n\nsys.modules['nanobot.plugins'] = None\nimport nanobot.pytest_cases\n"
    )
    code, said = await tested(project, None, "-p", "without")
    assert code == 0, said
    assert "1 passed" in said
