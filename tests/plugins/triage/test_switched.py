"""A gateway decides before it acts, unless the plugin is switched off; then every run acts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import PluginBroken
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.providers.base import ModelRequest
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.offers import Offers
from nanobot.testing.model import ScriptedProvider

AT_ONCE = {
    "decision": "reply",
    "confidence": 0.9,
    "reason": "it is easy",
    "reply": {"content": "At once."},
    "run": None,
}


def answer(request: ModelRequest) -> str:
    deciding = '"reply_and_run"' in str(request.messages[0].content)
    return json.dumps(AT_ONCE) if deciding else "By acting."


@asynccontextmanager
async def serving(folder: Path, off: str) -> AsyncIterator[tuple[Parts, ScriptedProvider]]:
    decision = "[agent.decision]\ntimeout_seconds = 30"
    (folder / "config.toml").write_text(
        f'[plugins]\noff = [{off}]\n[agent]\ntriage = "decision"\n{decision}\n'
    )
    environ = {"NANOBOT_HOME": str(folder)}
    provider = ScriptedProvider(otherwise=answer)
    program = Program(provider=OneProvider(provider))
    gateway = Gateway(load(environ), environ, channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts, provider


async def said(parts: Parts) -> str:
    asked = RunInput(session_key="cli:desk", messages=[{"role": "user", "content": "What now?"}])
    events = [event async for event in parts.plugged.offers.get(RunService).stream(asked)]
    assert isinstance(events[-1], RunResult)
    return events[-1].message


@pytest.mark.parametrize(("off", "text"), [("", "At once."), ('"triage"', "By acting.")])
async def test_a_message_is_decided_on_unless_the_plugin_is_off(
    tmp_path: Path, off: str, text: str
) -> None:
    async with serving(tmp_path, off) as (parts, provider):
        assert await said(parts) == text
        assert len(provider.requests) == 1


def test_a_function_may_ask_for_what_is_not_there() -> None:
    """Facts that nobody keeps, as where memory is off."""

    def function(number: int, words: str | None = None) -> tuple[int, str | None]:
        return number, words

    assert Offers({int: 3}).call(function, {}) == (3, None)
    assert Offers({int: 3, str: "tweet"}).call(function, {}) == (3, "tweet")
    with pytest.raises(PluginBroken, match="number asks for int"):
        Offers({str: "tweet"}).call(function, {})
