"""Several processes over one PostgreSQL, each with a home of its own and one workspace for all."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.process.harness import Nanobot, World


class Cluster:
    """Processes of one assistant; `world` is the home of the first, and what is around them all."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.members: list[Nanobot] = []
        self.top = self.more = self.agent = ""

    def configure(self, agent: str = "", top: str = "", more: str = "") -> None:
        self.agent, self.top, self.more = agent, top, more
        folder = self.world.home.parent
        shared = f'workspace = "{folder / "workspace"}"\nblobs = "{folder / "blobs"}"'
        self.world.workspace = folder / "workspace"
        self.world.configure(agent=agent, top=f"{top}\n{shared}", more=more)

    async def start(self, *roles: str, **environ: str) -> Nanobot:
        """One more process, with these roles."""
        process = await self.launch(*roles, **environ)
        await process.ready()
        return process

    async def launch(self, *roles: str, **environ: str) -> Nanobot:
        home = self.world.home.parent / f"home{len(self.members)}"
        home.mkdir()
        text = (self.world.home / "config.toml").read_text("utf-8")
        (home / "config.toml").write_text(text, "utf-8")
        arguments = [word for role in roles for word in ("--role", role)]
        process = await self.world.launch("gateway", *arguments, NANOBOT_HOME=str(home), **environ)
        self.members.append(process)
        return process

    async def run(self, member: Nanobot, *arguments: str) -> str:
        """What a command in the home of a member prints."""
        home = self.world.home.parent / f"home{self.members.index(member)}"
        ended = await self.world.run(*arguments, NANOBOT_HOME=str(home))
        assert ended.code == 0, ended.errors
        return ended.output

    async def stop(self) -> None:
        """All that still run, in order."""
        for member in self.members:
            if member.running:
                assert await member.stop() == 0


@asynccontextmanager
async def frozen(process: Nanobot) -> AsyncIterator[None]:
    """Within, the process is stopped as by a debugger or a machine that sleeps."""
    process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.signal(signal.SIGCONT)


def call(tool: str, **arguments: object) -> str:
    """What has the scripted model call a tool."""
    return f"tool:{tool}:{json.dumps(arguments)}"


def web_of(line: str) -> str:
    """Where a process serves HTTP, by its ready line."""
    where = re.search(r" web=(http://[^ ]+) ", line)
    assert where, line
    return where[1]


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
