"""While plugins cannot be switched by commands, they are as configured, and what asks for that says
how it comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.plugins.common.commands.performing import performed
from nanobot.plugins.switches.operations import list_plugins, operations, restart
from nanobot.seam.offers import Restart
from nanobot.supervision import to_its_end
from tests.plugins.switching import asked, serving
from tests.server.housing import house

OFF = '[plugins]\noff = ["switches", "voice"]\n'
REMEDY = (
    "belongs to the plugin switches, which is off here: take it out of plugins.off in config.toml, "
    "and start nanobot again."
)


async def test_each_of_its_commands_says_how_it_comes_back_and_plugins_stay_as_they_are(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        assert {*parts.plugged.off} >= {"switches", "voice"}
        for each in operations():
            with pytest.raises(UsageError) as refused:
                await parts.operations.call(each.name, {})
            assert str(refused.value) == f"{each.name} {REMEDY}"
            assert parts.operations.unknown(f"/{each.name}") == f"/{each.name} {REMEDY}"
        assert parts.operations.unknown("/plugins on voice") == f"/plugins on {REMEDY}"
        assert "`plugins on voice` switches it on" not in parts.operations.unknown("/plugins")
    environ = {"NANOBOT_HOME": str(home)}
    with pytest.raises(UsageError, match=r"take it out of plugins\.off"):
        await performed(load(environ), environ, list_plugins, {})
    assert load(environ).plugins.off == ("switches", "voice")


async def test_it_is_not_switched_off_by_a_command_that_could_not_be_undone(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with serving(home, "") as parts:
        with pytest.raises(UsageError, match="nothing could switch switches on again"):
            await parts.operations.call("plugins off", {"name": "switches"})
        assert load({"NANOBOT_HOME": str(home)}).plugins.off == ()
        assert (await parts.operations.call("plugins on", {"name": "switches"})).state == "on"


async def test_a_restart_needs_a_gateway_that_can_and_a_configuration_that_is_right(
    tmp_path: Path,
) -> None:
    home, begun = tmp_path / "home", asyncio.Event()
    async with serving(home, "") as parts:
        with pytest.raises(UsageError, match="only a gateway can restart itself"):
            await parts.operations.call("restart", {})
        parts.plugged.offers.add({Restart: Restart(begun.set)})
        file = home / "config.toml"
        await to_its_end(lambda: file.write_text("[agent]\nmax_tokens = 0\n"))
        with pytest.raises(Exception, match=r"agent\.max_tokens"):
            await parts.operations.call("restart", {})
        assert not begun.is_set()
        await to_its_end(lambda: file.write_text(""))
        said = await parts.operations.call("restart", {})
        assert said.startswith("The gateway is restarting")
        assert begun.is_set()
    assert restart.confirm


async def test_the_page_is_told_of_its_operations_only_while_it_is_on(tmp_path: Path) -> None:
    for web, offered in (("", True), (OFF, False)):
        async with house(tmp_path / "home", web=web) as served:
            _, me = await (await served.owner()).get("/api/me")
            assert ("plugins list" in me["operations"]) is offered
            assert "compact" in me["operations"]
