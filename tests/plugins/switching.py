"""A whole gateway with some plugins off, and a message to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.providers.base import LLMProvider
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider
from tests.store.empty import with_empty_store

KEY = "cli:desk"


def _write(home: Path, settings: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(settings)
    with_empty_store(home)


@asynccontextmanager
async def serving(
    home: Path, settings: str = "", model: LLMProvider | None = None, *, channels: bool = False
) -> AsyncIterator[Parts]:
    """A gateway with these settings. Without another model, one that repeats what it is told."""
    _write(home, settings)
    environ = {"NANOBOT_HOME": str(home)}
    program = Program(provider=OneProvider(model or ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=channels, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def asked(parts: Parts, text: str, key: str = KEY) -> str:
    """The state in which the run for a message ends."""
    question = RunInput(session_key=key, messages=[{"role": "user", "content": text}])
    *_, last = [item async for item in parts.plugged.offers.get(RunService).stream(question)]
    assert isinstance(last, RunResult)
    return last.status
