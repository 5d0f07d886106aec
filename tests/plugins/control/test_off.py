"""A gateway without its control socket answers; what would reach it by that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanobot.config.loader import load
from nanobot.errors import NotServed, StoreError
from nanobot.messages import TERMINAL
from nanobot.plugins.common.commands.performing import performed
from nanobot.plugins.common.control.client import call, unserved
from nanobot.plugins.setup.doctor.checks import findings
from nanobot.plugins.setup.operations import list_channels
from nanobot.plugins.switches.operations import list_plugins, plugin_off, plugin_on
from nanobot.plugins.terminal.connection import connected
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["control"]\n'
NO_MODEL = '[agent]\nmodel = "absent/one"\n[providers.absent]\napi_base = "http://127.0.0.1:9"\n'
REMEDY = "nanobot plugins on control"


async def listed(home: Path) -> Any:
    environ = {"NANOBOT_HOME": str(home)}
    return await performed(load(environ), environ, list_channels, {})


async def test_it_answers_and_a_command_that_meets_it_names_the_plugin(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        assert not (home / "control.sock").exists()
        with pytest.raises(StoreError, match=f"is in use by process .*{REMEDY}"):
            await listed(home)
    assert bytes((await listed(home)).result) == b"[]"


@pytest.mark.process
async def test_it_is_switched_on_beside_a_running_gateway(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    environ = {"NANOBOT_HOME": str(home)}
    async with serving(home, OFF) as parts:
        for operation in (list_plugins, plugin_on):
            named = {} if operation is list_plugins else {"name": "control"}
            await performed(load(environ), environ, operation, named)
        assert load(environ).plugins.off == ()
        await performed(load(environ), environ, plugin_off, {"name": "control"})
        await performed(load(environ), environ, plugin_on, {"name": "control"})
        assert "write /restart to it in a chat" in capsys.readouterr().err
        assert await asked(parts, "hello") == "completed"
    async with serving(home, "") as parts:
        assert await call(home / "control.sock", "channels list", {}) == b"[]"


async def test_commands_reach_it_while_it_is_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, "") as parts:
        assert parts.plugged.failures == {}
        assert TERMINAL in parts.channels.hosts
        assert await call(home / "control.sock", "channels list", {}) == b"[]"
        assert bytes((await listed(home)).result) == b"[]"


async def test_terminal_top_and_doctor_name_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF + NO_MODEL):
        environ = {"NANOBOT_HOME": str(home)}
        config = load(environ)
        with pytest.raises(NotServed, match=REMEDY):
            async with connected(config, environ, greets=False):
                pass
        assert REMEDY in str(unserved(config))
        found = [each for each in await findings(environ) if each.about == "gateway"]
        assert [each.remedy for each in found] == [f"Run: {REMEDY}"]


async def test_a_message_for_the_terminal_waits(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as parts:
        await parts.operations.call("notify", {"chat": "cli:desk", "text": "for later"})
    async with serving(home, "") as parts:
        (row,) = await parts.operations.call("outbox list", {"state": "pending"})
        assert row.text == "for later"
