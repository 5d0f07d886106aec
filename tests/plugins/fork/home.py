"""A home with a scripted model over the wire, and its runs and forks."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from nanobot.messages import EventKind, Role
from nanobot.operations.operation import Caller
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.fork.comparing import ComparisonView
from nanobot.plugins.fork.operations import ForkView
from nanobot.store.database import schema
from nanobot.store.opening import Store
from tests.doubles.openai_server import Body, OpenAIServer
from tests.store.empty import with_empty_store

CONFIG = """
[web]
enabled = false

[agent]
model = "fake/good"
remember = "off"

[providers.fake]
api_key = "sk-test"
api_base = "{url}"
client = "lean"

[providers.fake.prices]
good = {{ prompt = 10.0, completion = 10.0 }}
bad = {{ prompt = 10.0, completion = 10.0 }}
"""
SESSION = "cli:talk"
WORLD = ("outbound", "inbound", "jobs", "memories", "tasks", "approval_rules", "tainted_files")


def told(body: Body) -> list[str]:
    """What tools answered the model."""
    return [each["content"] for each in body["messages"] if each["role"] == "tool"]


def said(body: Body) -> str:
    """The last message of a person."""
    return str([each for each in body["messages"] if each["role"] == "user"][-1]["content"])


class ForkHome:
    """One home."""

    def __init__(self, folder: Path, server: OpenAIServer) -> None:
        self.folder = folder
        self.server = server
        self.environ: dict[str, str] = {"NANOBOT_HOME": str(folder)}
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True)
        with_empty_store(folder)
        self.configure()

    def configure(self, more: str = "") -> None:
        (self.folder / "config.toml").write_text(
            CONFIG.format(url=self.server.base_url) + more, encoding="utf-8"
        )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Serving]:
        gateway = Gateway(load(self.environ), self.environ, channels=False)
        async with gateway.serving("a test", lambda _line: None) as parts:
            yield Serving(parts)

    def files(self) -> dict[str, str]:
        """Every file of the workspace, by its digest."""
        return {
            str(path.relative_to(self.workspace)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.workspace.rglob("*"))
            if path.is_file()
        }


class Serving:
    """A gateway of the home while it serves."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    async def ask(self, text: str, session: str = SESSION) -> str:
        """Have a message answered; returns the id of the run."""
        request = RunInput(session_key=session, messages=[{"role": "user", "content": text}])
        request = RunInput(
            session_key=session,
            run_id=f"run{hashlib.sha256(text.encode()).hexdigest()[:8]}",
            messages=request.messages,
        )
        async for item in self.parts.plugged.offers.get(RunService).stream(request):
            if isinstance(item, RunResult):
                return item.run_id
        raise AssertionError("the run has no result")

    async def call(self, name: str, **arguments: Any) -> Any:
        return await self.parts.operations.call(name, arguments)

    async def fork(self, run: str, **options: Any) -> ForkView:
        view: ForkView = await self.call("runs fork", id=run, **{"wait": 60.0} | options)
        return view

    async def order(self, run: str, key: str) -> ForkView:
        """The same order, as a chat brings it again."""
        caller = Caller(role=Role.OWNER, session_key=SESSION, by="owner", key=key)
        view: ForkView = await self.parts.operations.call("runs fork", {"id": run}, caller)
        return view

    async def ended(self, run: str, fork: str) -> ComparisonView:
        """Both runs, once the fork has ended."""
        watching = self.parts.engine.bus.subscribe(f"fork:{fork}", frozenset({EventKind.END}))
        try:
            if (await self.call("runs show", id=fork)).run.ended_at is None:
                await anext(aiter(watching))
        finally:
            self.parts.engine.bus.unsubscribe(watching)
        view: ComparisonView = await self.call("runs compare", id=run, other=fork)
        return view

    async def rows(self, *tables: str, but: str = "fork:") -> dict[str, list[Any]]:
        """The rows of tables, but those of forks."""

        def read(connection: sa.Connection) -> dict[str, list[Any]]:
            found: dict[str, list[Any]] = {}
            for name in tables:
                table = schema.metadata().tables[name]
                rows = connection.execute(sa.select(table)).mappings()
                found[name] = sorted(str(dict(row)) for row in rows if but not in str(dict(row)))
            return found

        return await self.parts.plugged.offers.get(Store).database.transact(read)
