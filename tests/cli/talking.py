"""A home with a scripted model, and nanobot in a terminal over it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from tests.cli.running import launched
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.terminal import Terminal, in_terminal
from tests.process.harness import PATIENCE, Nanobot


class Home:
    """A home of its own. `gateway` starts a process that serves it."""

    def __init__(self, folder: Path, model: OpenAIServer, label: str = "test/scripted") -> None:
        self.folder = folder
        self.model = model
        self.workspace = folder / "workspace"
        provider = label.split("/")[0]
        (folder / "config.toml").write_text(
            f'[agent]\nmodel = "{label}"\n'
            f'[providers.{provider}]\napi_base = "{model.base_url}"\napi_key = "none"\n'
        )

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        kept |= {"LANG": "C.UTF-8", "TZ": "UTC"}
        return kept | {"NANOBOT_HOME": str(self.folder)} | more

    @asynccontextmanager
    async def terminal(
        self, *arguments: str, columns: int = 80, rows: int = 24, **environ: str
    ) -> AsyncIterator[Terminal]:
        """`nanobot agent` in a terminal, greeted."""
        command = ("agent", *arguments)
        async with in_terminal(
            command, self.environ(**environ), self.folder, columns=columns, rows=rows
        ) as terminal:
            await terminal.shows("leaves.")
            await terminal.until(lambda: terminal.screen.lines[-1] == ">")
            yield terminal

    @asynccontextmanager
    async def resuming(self) -> AsyncIterator[Terminal]:
        """`nanobot agent --resume` in a terminal."""
        command = ("agent", "--resume")
        async with in_terminal(command, self.environ(), self.folder) as terminal:
            yield terminal

    @asynccontextmanager
    async def gateway(self) -> AsyncIterator[Nanobot]:
        """A gateway that is ready; killed at the end."""
        process = await launched(self.environ(), ["gateway"], self.folder)
        try:
            await process.ready()
            yield process
        finally:
            await process.kill()

    async def at_rest(self) -> None:
        """Wait until every run has ended, and its answer is stored."""
        async with asyncio.timeout(PATIENCE):
            while self._live_runs():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)

    def _live_runs(self) -> list[object]:
        ends = "('completed', 'failed', 'aborted')"
        with closing(sqlite3.connect(self.folder / "state.db")) as store:
            return store.execute(f"SELECT id FROM runs WHERE state NOT IN {ends}").fetchall()


async def answered(terminal: Terminal, line: str) -> None:
    """Wait until the line stands there, and it is the person's turn again."""
    screen = terminal.screen
    await terminal.until(lambda: line in screen.lines and screen.lines[-2:] == ["", ">"])
