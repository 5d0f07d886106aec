"""A gateway has the model name conversations, unless the plugin is switched off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.providers.base import ModelRequest
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider
from tests.stored import lists_of

QUESTION = "Which trains go to Rome?"


def answer(request: ModelRequest) -> str:
    naming = "Give it a title" in str(request.messages[0].content)
    return "Trains to Rome" if naming else "Two in the morning."


@pytest.mark.parametrize(("off", "title"), [("", "Trains to Rome"), ('"titles"', QUESTION)])
async def test_a_conversation_is_named_unless_the_plugin_is_off(
    tmp_path: Path, off: str, title: str
) -> None:
    (tmp_path / "config.toml").write_text(f'[plugins]\noff = [{off}]\n[agent]\ntitles = "model"\n')
    environ = {"NANOBOT_HOME": str(tmp_path)}
    provider = ScriptedProvider(otherwise=answer)
    program = Program(provider=OneProvider(provider))
    gateway = Gateway(load(environ), environ, channels=False, program=program)
    asked = RunInput(session_key="cli:desk", messages=[{"role": "user", "content": QUESTION}])
    async with gateway.serving("a test", lambda _line: None) as parts:
        async for _ in parts.plugged.offers.get(RunService).stream(asked):
            continue
        await eventually_called(parts, title)
        assert len(provider.requests) == (1 if off else 2)


async def eventually_called(parts: Parts, title: str) -> None:
    async with asyncio.timeout(20):
        while await named(parts) != title:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)


async def named(parts: Parts) -> str:
    row = await lists_of(parts.engine.records).one("cli:desk")
    return "" if row is None else row.title
