"""Files of the prompt, shown and written through the operations of a gateway at rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.errors import NanobotError, UsageError
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from tests.store.empty import with_empty_store

WRITTEN = '[agent]\nmodel = "embedded"\n'


@pytest_asyncio.fixture
async def operations(tmp_path: Path) -> AsyncIterator[Dispatcher]:
    (tmp_path / "config.toml").write_text(WRITTEN)
    with_empty_store(tmp_path)
    environ = {"NANOBOT_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    async with operations_at_rest(
        Gateway(load(environ), environ, channels=False), "test"
    ) as dispatcher:
        yield dispatcher


async def test_a_prompt_file_is_written_whole_unless_somebody_else_did_meanwhile(
    operations: Dispatcher,
) -> None:
    before = await operations.call("prompts show", {"name": "USER.md"})
    written = await operations.call(
        "prompts write", {"name": "USER.md", "text": "I live in Lisbon.", "digest": before.digest}
    )
    assert written.text == "I live in Lisbon."
    with pytest.raises(NanobotError, match="changed meanwhile"):
        await operations.call(
            "prompts write", {"name": "USER.md", "text": "No.", "digest": before.digest}
        )
    await operations.call("prompts write", {"name": "memory/anna.md", "text": "- likes tea"})
    listed = {file.name: file for file in await operations.call("prompts list", {})}
    assert listed["memory/anna.md"].size == 11
    assert listed["HEARTBEAT.md"].size is None


@pytest.mark.parametrize(
    "name", ["notes.md", "../config.toml", "memory/../USER.txt", "memory/../../x.md", "/etc/passwd"]
)
async def test_only_files_of_the_prompt_are_shown_and_written(
    operations: Dispatcher, name: str
) -> None:
    with pytest.raises(UsageError, match="not a file of the prompt"):
        await operations.call("prompts show", {"name": name})
    with pytest.raises(UsageError, match="not a file of the prompt"):
        await operations.call("prompts write", {"name": name, "text": "x"})


async def test_a_link_in_the_place_of_a_prompt_file_leads_nowhere(
    operations: Dispatcher, tmp_path: Path
) -> None:
    (tmp_path / "workspace" / "memory").mkdir(exist_ok=True)
    (tmp_path / "workspace" / "memory" / "out.md").symlink_to(tmp_path / "config.toml")
    with pytest.raises(NanobotError):
        await operations.call("prompts show", {"name": "memory/out.md"})
    with pytest.raises(NanobotError):
        await operations.call("prompts write", {"name": "memory/out.md", "text": "x"})
    assert (tmp_path / "config.toml").read_text() == WRITTEN


async def test_of_two_writers_at_once_the_second_is_told_of_the_first(
    operations: Dispatcher,
) -> None:
    before = await operations.call("prompts show", {"name": "USER.md"})
    both = [
        operations.call("prompts write", {"name": "USER.md", "text": text, "digest": before.digest})
        for text in ("I live in Lisbon.", "I live in Porto.")
    ]
    ended = await asyncio.gather(*both, return_exceptions=True)
    refused = [each for each in ended if isinstance(each, NanobotError)]
    assert len(refused) == 1
    assert "changed meanwhile" in str(refused[0])
