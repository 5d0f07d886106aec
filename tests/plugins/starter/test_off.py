"""A gateway without the starter is the same; the command needs neither a gateway nor a home."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.starter.template import write_plugin
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["starter"]\n'


async def test_a_gateway_without_it_answers(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        (row,) = [
            each
            for each in await parts.operations.call("plugins list", {})
            if each.name == "starter"
        ]
        assert "nanobot plugins on starter" in row.why


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    folder = write_plugin("tea", tmp_path)
    before = {file: file.read_text() for file in folder.rglob("*.*")}
    with pytest.raises(UsageError):
        write_plugin("tea", tmp_path)
    assert {file: file.read_text() for file in folder.rglob("*.*")} == before
