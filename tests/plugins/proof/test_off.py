"""A gateway whose proofs of logs are off names the plugin; its logs can be proved later."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["proof"]\n'


async def test_while_it_is_off_its_commands_name_it_and_logs_are_chained(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home) as parts:
        assert await asked(parts, "hello") == "completed"
        (noted,) = await parts.operations.call("audit verify", {})
    async with serving(home, OFF) as parts:
        assert await asked(parts, "hello again") == "completed"
        for name in ("audit verify", "audit export", "audit verify-export"):
            with pytest.raises(UsageError, match=r"plugin proof, which is off here.*plugins on"):
                await parts.operations.call(name, {})
        said = parts.operations.unknown("/audit verify")
        assert said.startswith("/audit verify belongs to the plugin proof, which is off here")
    async with serving(home) as parts:
        (now,) = await parts.operations.call("audit verify", {"head": noted.head})
        assert now.entries > noted.entries
