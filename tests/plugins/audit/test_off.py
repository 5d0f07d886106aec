"""A gateway whose security audit is off names the plugin; nothing is less safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from tests.plugins.switching import asked, serving
from tests.server.housing import house

OFF = '[plugins]\noff = ["audit"]\n'


async def test_while_it_is_off_its_commands_name_it(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        with pytest.raises(UsageError, match=r"plugin audit, which is off here.*plugins on"):
            await parts.operations.call("security audit", {})
        with pytest.raises(UsageError, match=r"plugin audit, which is off here.*plugins on"):
            await parts.operations.call("policy explain", {"tool": "exec", "text": "ls"})
        assert await parts.operations.call("policy rules", {}) == []
        said = parts.operations.unknown("/security audit")
        assert said.startswith("/security audit belongs to the plugin audit, which is off here")


async def test_the_page_has_the_audit_only_while_it_is_on(tmp_path: Path) -> None:
    for web, shown in (("", ["policy explain", "security audit"]), (OFF, [])):
        async with house(tmp_path / "home", web=web) as served:
            _, me = await (await served.owner()).get("/api/me")
            needs = [view["needs"] for view in me["views"] if view["place"] == "policy"]
            assert needs == shown
