"""The gateway's log: a line for each run, and what it took in the last event for programs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from loguru import logger

from nanobot.errors import ModelRefused
from nanobot.messages import EventKind, RunEvent, RunPayload
from nanobot.plugins.logs.run_log import line_of, log_runs
from nanobot.testing import gateway
from nanobot.testing.model import ScriptedProvider
from tests.cli.running import environ_of, run
from tests.doubles.openai_server import OpenAIServer, error_status


async def lines_of(*answers: str | Exception) -> list[str]:
    """The log of a gateway that was said hello to, once for each answer."""
    lines: list[str] = []
    handler = logger.add(lambda line: lines.append(str(line)), format="{level} {message}")
    try:
        async with gateway(ScriptedProvider(*answers)) as bot, asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(log_runs(bot.engine.bus))
            await asyncio.sleep(0)
            for _ in answers:
                await bot.channel.push("hello")
                await bot.channel.pop()
            await bot.settle()
            watching.cancel()
    finally:
        logger.remove(handler)
    return [line.strip() for line in lines if "(run " in line]


async def test_every_run_is_one_line_with_its_chat_state_seconds_tokens_and_cost() -> None:
    first, second = await lines_of("one", "two")
    assert first.startswith("INFO fake:1: completed in ")
    assert "tokens in, " in first
    assert first.count("(run ") == 1
    assert first != second


async def test_a_model_that_failed_is_a_warning_that_says_why() -> None:
    (line,) = await lines_of(ModelRefused("the key is wrong"))
    assert line.startswith("WARNING fake:1: failed in ")
    assert line.endswith(": ModelRefused: the key is wrong")


@pytest.mark.parametrize(
    ("payload", "part"),
    [
        ({}, "fake:1: ended in 0.0 s, 0 tokens in, 0 out, at an unknown price (run r1)"),
        ({"state": "completed", "cost": 0.25}, ", $0.2500 (run r1)"),
        ({"state": "aborted"}, "fake:1: aborted, before a model call was recorded (run r1)"),
        ({"state": "failed", "error": "x", "text": "the\nanswer"}, "(run r1): x"),
    ],
)
def test_whatever_is_known_of_a_run_is_one_line(payload: RunPayload, part: str) -> None:
    event = RunEvent(
        run_id="r1",
        session_key="fake:1",
        model_call=1,
        seq=1,
        kind=EventKind.END,
        at=0.0,
        payload=payload,
    )
    assert part in line_of(event)


async def test_programs_are_told_what_a_run_took_in_its_last_event(tmp_path: Path) -> None:
    async with OpenAIServer() as model:
        (tmp_path / "config.toml").write_text(
            '[agent]\nmodel = "home/mine"\n'
            f'[providers.home]\napi_base = "{model.base_url}"\n'
            "[providers.home.models.mine]\nprice = { prompt = 10.0, completion = 10.0 }\n"
        )
        environ = environ_of(tmp_path)
        ran = await run(environ, "agent", "-m", "say:hello", "--json")
        assert ran.code == 0, ran.err
        rows = [json.loads(line) for line in ran.out.splitlines()]
        (end,) = [row for row in rows if row.get("kind") == "end"]
        usage, cost = end["payload"]["usage"], end["payload"]["cost"]
        assert usage["model_calls"] == 1
        tokens = usage["prompt_tokens"] + usage["completion_tokens"]
        assert cost == pytest.approx(tokens / 100_000)
        model.fail_with(*[error_status(401, "bad key")] * 3)
        ran = await run(environ, "agent", "-m", "say:hello", "--json")
        (end,) = [row for row in map(json.loads, ran.out.splitlines()) if row.get("kind") == "end"]
        assert (end["payload"]["cost"], end["payload"]["usage"]["completion_tokens"]) == (0.0, 0)
