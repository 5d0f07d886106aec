"""What a gateway must not hold in memory: libraries for what nobody asked of it."""

from __future__ import annotations

import asyncio
import signal
import sys

from tests.process.harness import PATIENCE, World

COMMAND = (
    "import atexit, gc, sys\n"
    "from nanobot.cli import main\n"
    "during = []\n"
    "gc.callbacks.append(lambda *_: gc.get_threshold()[0] > 700 and during.append(1))\n"
    "atexit.register(lambda: print(*sys.modules, f'collections={len(during)}'))\n"
    "main()\n"
)
NOT_NEEDED = {
    # commands and the terminal
    *("typer", "click", "pydantic", "rich", "pygments", "prompt_toolkit", "tomlkit"),
    # what Telegram's library takes in where it finds it
    *("httpx._main", "pytz", "telegram.ext"),
    # the store that it does not use, and updates of the one it does
    *("sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.mysql", "psycopg", "alembic"),
    # models and servers that are not configured
    *("litellm", "openai", "xllamacpp", "mcp", "httpx2", "numpy"),
    # tools that were not called, and files that nobody sent
    *("trafilatura", "lxml", "ddgs", "pypdf", "openpyxl", "docx", "pptx", "tree_sitter"),
    # channels, sensors and jobs that are not configured, and the server
    *("discord", "slack_bolt", "aioimaplib", "psutil", "watchfiles", "croniter"),
    "aiohttp.web",
}


async def test_a_gateway_that_answers_has_loaded_only_what_that_takes(world: World) -> None:
    world.configure()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", COMMAND, "gateway"),
        env=world.environ(),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            assert process.stdout is not None
            await process.stdout.readline()
            world.telegram.say(1, "say:**hello**")
            await world.telegram.reply_in(1)
            process.send_signal(signal.SIGTERM)
            loaded = set((await process.stdout.read()).decode().split())
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert loaded >= {"telegram", "nanobot.app.gateway"}
    assert "collections=0" in loaded  # of garbage, before it was ready
    assert sorted(NOT_NEEDED & loaded) == []
