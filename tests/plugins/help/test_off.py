"""While help is off, who asks for it is told so, and no answer promises it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.switching import serving

OFF = '[plugins]\noff = ["help"]\n'


@pytest.mark.parametrize(
    "text", ["/help", "/help cron", "/help more", "/start", "/start a-link", "/help@my_bot"]
)
async def test_who_asks_for_it_is_told_how_it_is_switched_on(tmp_path: Path, text: str) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert parts.operations.find(text) is None
        said = parts.operations.unknown(text)
        assert "belongs to the plugin help, which is off here" in said
        assert "`plugins on help` switches it on." in said


async def test_an_unknown_command_is_answered_without_it(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert parts.operations.unknown("/stauts") == "There is no /stauts. Did you mean /status?"
        assert parts.operations.unknown("/xyzzy") == "There is no /xyzzy."
        said = parts.operations.unknown("/security")
        assert said == "/security needs another word: audit, files, trust."
    async with serving(tmp_path / "home") as parts:
        assert parts.operations.unknown("/xyzzy") == "There is no /xyzzy. /help lists the commands."
