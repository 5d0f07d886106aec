"""More connections at once than the gateway may have files: the rest of it works."""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from nanobot.system import MOST_FILES
from tests.process.harness import World
from tests.process.test_webhooks import door

MANY = 1_200
FILES = 1_024


@pytest.fixture
def room() -> Iterator[None]:
    """Files for all of them on this side."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * MANY:
        pytest.skip("this side may not open that many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * MANY), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def status(port: int) -> bytes:
    """The first word of an answer; nothing while connections are refused."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as own:
        own.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return own.recv(12)
    return b""


def files_of(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


@pytest.mark.usefixtures("room")
async def test_the_files_are_not_taken_by_connections(world: World) -> None:
    """They come at once, say nothing, and are held; a person is answered meanwhile."""
    world.configure(more="[web]\nport = 0\n")
    gateway = await world.launch()
    port = int(door(await gateway.ready()).rpartition(":")[2])
    _, hard = resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, (FILES, hard))
    with ExitStack() as held:
        for _ in range(MANY):
            own = held.enter_context(socket.socket())
            own.setblocking(False)
            own.connect_ex(("127.0.0.1", port))
        await asyncio.sleep(1.0)
        before, began = processor_seconds(gateway.pid), time.monotonic()
        world.telegram.say(1, "say:meanwhile")
        assert await world.answered(1) == ["meanwhile"]
        await asyncio.sleep(2.0)
        spent = processor_seconds(gateway.pid) - before
        assert spent < 0.5 * (time.monotonic() - began)
        assert files_of(gateway.pid) < FILES
    assert "Too many open files" not in world.log
    assert "out of system resource" not in world.log
    await world.eventually(lambda: status(port) == b"HTTP/1.1 200")
    assert await gateway.stop() == 0


STARTED_WITH_FEW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
sys.argv = ["nanobot", "gateway"]
from nanobot.cli import main
main()
"""


async def test_a_gateway_may_open_what_the_hard_limit_allows(world: World) -> None:
    """The soft limit, of 1,024 on most machines, is for other programs."""
    gateway = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", STARTED_WITH_FEW),
        env=world.environ(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert gateway.stdout is not None
    async with asyncio.timeout(60):
        assert b"ready" in await gateway.stdout.readline()
    soft, hard = resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE)
    gateway.terminate()
    assert await gateway.wait() == 0
    assert soft == min(hard, MOST_FILES)
