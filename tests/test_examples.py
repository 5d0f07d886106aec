"""The programs of examples/ do what they say, and type checkers know all that they use."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.system import environment
from tests.doubles.openai_server import OpenAIServer

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(file.name for file in EXAMPLES.glob("*.py"))
MOST_LINES = 50


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


async def run(
    program: str, *arguments: str, folder: Path, model: OpenAIServer, **more: str
) -> tuple[int, str]:
    """Its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / program),
        *arguments,
        env={
            **environment(),
            "PYTHONPATH": str(ROOT),
            "NANOBOT_HOME": str(folder / "home"),
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "key",
            "MODEL": "scripted",
            "WORKSPACE": str(folder),
            **more,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert b"Traceback" not in errors, errors.decode()
    return process.returncode or 0, output.decode()


async def test_a_script_asks_over_udp_and_knows_when_there_is_no_answer(
    tmp_path: Path, model: OpenAIServer
) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[agent]\nmodel = "test/scripted"\nmax_iterations = 1\n'
        f'[providers.test]\napi_base = "{model.base_url}"\n'
        f'[channels.udp]\nport = {port}\ntoken = "long enough"\nowners = ["udp"]\n'
        "[web]\nenabled = false\n"
    )
    environ = {**environment(), "NANOBOT_HOME": str(home)}
    with_udp = {"UDP_PORT": str(port), "UDP_TOKEN": "long enough"}
    ready = asyncio.Event()
    async with Gateway(load(environ), environ).serving("test", lambda _: ready.set()):
        await ready.wait()
        for text, answer in (
            ("say:It was full.", (0, "It was full.\n")),
            ('tool:list_dir:{"path": "."}', (1, "(I stopped here: the limit of 1 model calls.)\n")),
        ):
            given = await run("ask_over_udp.py", text, folder=tmp_path, model=model, **with_udp)
            assert given == answer


async def test_an_answer_is_streamed_by_an_agent_of_ones_own(
    tmp_path: Path, model: OpenAIServer
) -> None:
    given = await run("stream_answer.py", "say:Hello you", folder=tmp_path, model=model)
    assert given == (0, "Hello you\n")
    assert "You are Tess" in str(model.requests[0]["messages"][0])
    forty = "\n".join(['tool:list_dir:{"path": "."}'] * 40)
    code, _ = await run("stream_answer.py", forty, folder=tmp_path, model=model)
    assert code == 1


async def test_an_answer_comes_at_once_and_the_report_of_the_work_later(
    tmp_path: Path, model: OpenAIServer
) -> None:
    code, output = await run(
        "answer_now_work_later.py", "say:At once.", "say:Done.", folder=tmp_path, model=model
    )
    assert code == 0
    started, *later = output.splitlines()
    assert started.startswith("started ")
    assert any("At once." in line for line in later)
    assert any("Done." in line for line in later)


async def test_a_bus_is_served_in_order(tmp_path: Path, model: OpenAIServer) -> None:
    given = await run("serve_a_bus.py", "say:One.", "say:Two.", folder=tmp_path, model=model)
    assert given == (0, "One.\nTwo.\n")


async def test_a_durable_run_is_approved_and_not_made_again(
    tmp_path: Path, model: OpenAIServer
) -> None:
    question = 'tool:stock:{"article": "7"}\nsay:There are twelve.'
    home = str(tmp_path / "home")
    code, output = await run("durable_run.py", question, home, folder=tmp_path, model=model)
    lines = output.splitlines()
    assert (code, lines[-1]) == (0, "completed: There are twelve.")
    assert [int(line.split()[0]) for line in lines[:-1]] == list(range(1, len(lines)))
    assert {"approval", "tool_result", "end"} <= {line.split()[1] for line in lines[:-1]}
    requests = len(model.requests)
    again = await run("durable_run.py", question, home, folder=tmp_path, model=model)
    assert again == (0, "1 end\ncompleted: There are twelve.\n")
    assert len(model.requests) == requests


def test_examples_are_short_and_the_page_names_each() -> None:
    page = (EXAMPLES / "README.md").read_text("utf-8")
    assert re.findall(r"\((\w+\.py)\)", page) == [
        "ask_over_udp.py",
        "stream_answer.py",
        "answer_now_work_later.py",
        "serve_a_bus.py",
        "durable_run.py",
    ]
    assert set(re.findall(r"\((\w+\.py)\)", page)) == set(PROGRAMS)
    for program in PROGRAMS:
        lines = (EXAMPLES / program).read_text("utf-8").splitlines()
        assert sum(bool(line.strip()) for line in lines) <= MOST_LINES


def test_type_checkers_know_all_that_the_examples_use() -> None:
    """`make rules` checks them as strictly as mypy can, and with no expression that is an Any."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    (ours,) = [override for override in settings["overrides"] if override["module"] == "examples.*"]
    assert settings["strict"] is True
    assert "examples" in settings["files"]
    assert ours == {"module": "examples.*", "disallow_any_expr": True}
