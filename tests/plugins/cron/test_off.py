"""A gateway whose scheduled jobs are switched off keeps them, and its triggers act all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.messages import Origin
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.jobs.plans import plan_of
from nanobot.providers.one_provider import OneProvider
from nanobot.system import SystemClock
from nanobot.testing.model import ScriptedProvider
from tests.stored import log_of

HOUR = 3_600.0


class Later(SystemClock):
    """The machine's clock, so many hours on."""

    def __init__(self, hours: float) -> None:
        self._seconds = hours * HOUR

    def now(self) -> float:
        return super().now() + self._seconds


def write(folder: Path, settings: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(settings)


@asynccontextmanager
async def serving(folder: Path, hours: float, settings: str = "") -> AsyncIterator[Parts]:
    """One life of the gateway, so many hours after the first."""
    write(folder, settings)
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, clock=Later(hours), channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def test_jobs_wait_while_they_are_switched_off_and_are_done_afterwards(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with serving(home, 0) as parts:
        job = {"text": "+1h Drink some tea", "name": "tea", "to": "web:desk", "send": True}
        added = await parts.operations.call("cron add", job)
        assert added.state == "active"
        assert "cron" in [tool.name for tool, *_ in parts.engine.tools.listed()]
    async with serving(home, 2, '[plugins]\noff = ["cron"]\n') as parts:
        assert not [each.name for each in parts.operations.listed if each.name.startswith("cron")]
        with pytest.raises(UsageError, match="belongs to the plugin cron, which is off here"):
            await parts.operations.call("cron list", {})
        assert "cron" not in [tool.name for tool, *_ in parts.engine.tools.listed()]
        jobs = parts.plugged.offers.get(JobService)  # type: ignore[type-abstract]
        publisher = jobs.publisher(plan_of("backup", "web:desk", Origin.EVENT, "UTC"))
        assert await publisher.publish("The disk is full.", key="1") == "taken"
        assert await publisher.publish("The disk is full.", key="1") == "known"
        assert await posts(parts, 1) == ["echo: The disk is full."]
    async with serving(home, 3) as parts:
        _, said = await posts(parts, 2)
        assert said.startswith("[Late: this was due at ")
        assert said.endswith("Drink some tea")
        (row,) = await parts.operations.call("cron history", {"job": "tea"})
        assert row.status == "done"


async def posts(parts: Parts, count: int) -> list[str]:
    """What was said unasked in the conversation, oldest first, once it is so much."""
    said: list[str] = []
    async with asyncio.timeout(30):
        while len(said) < count:
            await asyncio.sleep(0.05)
            entries = await log_of(parts.engine.records).entries("web:desk", after=0, limit=100)
            said = [each.body["text"] for each in entries if each.body and each.kind == "post"]
    return said
