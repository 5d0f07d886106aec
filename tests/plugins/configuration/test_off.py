"""While the commands for the configuration are off, it applies, and what asks for them is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.agent.model_calls import ModelCaller
from nanobot.config.loader import Config, load
from nanobot.errors import ConfigError, UsageError
from nanobot.operations.home import ChangedSettings, LiveChanges
from nanobot.plugins.common.keys.home_settings import HomeSettings
from nanobot.plugins.configuration.operations import operations
from nanobot.plugins.http.absent import absent
from nanobot.plugins.setup.writing import typed_value
from nanobot.plugins.skills.skills import Skills
from nanobot.plugins.switches.operations import plugin_off
from tests.cli.running import environ_of, run
from tests.plugins.switching import serving
from tests.server.housing import house

OFF = '# Mine.\n[agent]\nmax_tokens = 77\n\n[plugins]\noff = ["configuration"]\n'


async def test_each_of_its_commands_names_it_and_its_keys_apply(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert parts.live.config.agent.max_tokens == 77
        for each in operations():
            with pytest.raises(UsageError, match=r"plugin configuration, which is off.*plugins on"):
                await parts.operations.call(each.name, {})
            said = parts.operations.unknown(f"/{each.name}")
            assert said.startswith(f"/{each.name} belongs to the plugin configuration, which is")
            path = f"/api/{each.name.replace(' ', '/')}"
            assert absent(parts.plugged, path) == (
                "This belongs to the plugin configuration. It is switched off: "
                "nanobot plugins on configuration"
            )


async def test_what_is_written_takes_effect_at_the_next_start_and_people_are_told(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as parts:
        call = parts.operations.call
        for name in ("weather", "git"):
            view = await call("skills disable", {"name": name})
            assert (view.state, view.why) == (
                "ready",
                "the change takes effect at the next start (`restart`)",
            )
            assert parts.plugged.offers.get(Skills).disabled == set()
        assert load({"NANOBOT_HOME": str(home)}).tables["skills"].disabled == ("git", "weather")
        file = home / "config.toml"
        file.write_text(file.read_text().replace("max_tokens = 77", "max_tokens = 78"))
        view = await call("plugins off", {"name": "voice"})
        said = plugin_off.text(view, parts.engine.shown_at())
        assert said == "The plugin voice is off after the next start (`restart`)."
        assert parts.live.config.agent.max_tokens == 77
        assert parts.plugged.offers.get(ModelCaller).settings.max_tokens == 77
        with pytest.raises(ConfigError, match=r"agent\.max_tokens"):
            await parts.plugged.offers.get(HomeSettings).change({"agent.max_tokens": 0})
    async with serving(home, file.read_text()) as parts:
        assert parts.live.config.agent.max_tokens == 78
        assert (await parts.operations.call("skills show", {"name": "git"})).state == "disabled"


async def test_plugins_are_switched_and_others_change_their_settings(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as parts:
        await parts.operations.call("skills disable", {"name": "weather"})
        assert load({"NANOBOT_HOME": str(home)}).tables["skills"].disabled == ("weather",)
        await parts.operations.call("plugins off", {"name": "voice"})
        await parts.operations.call("plugins on", {"name": "configuration"})
        written = (home / "config.toml").read_text()
        assert written.startswith('# Mine.\n[agent]\nmax_tokens = 77\n\n[plugins]\noff = ["voice"]')
        await parts.operations.call("plugins on", {"name": "voice"})
        await parts.operations.call("plugins on", {"name": "voice"})
        assert "voice" not in (home / "config.toml").read_text()


class Applied:
    """LiveChanges of another plugin."""

    def check(self, new: Config) -> None:
        assert new.agent.max_tokens == 78

    async def apply(self, written: ChangedSettings) -> ChangedSettings:
        return ChangedSettings(keys=written.keys, file=written.file, applied=written.keys)


async def test_what_another_plugin_offers_applies_changes_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        parts.plugged.offers.add({LiveChanges: Applied()})
        changed = await parts.plugged.offers.get(HomeSettings).change({"agent.max_tokens": 78})
        assert (changed.applied, changed.restart) == (["agent.max_tokens"], [])


def test_set_up_writes_with_it_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(OFF)
    assert typed_value("channels.telegram.owners", "1,2") == ["1", "2"]


@pytest.mark.process
async def test_the_command_line_shows_and_writes_the_file_without_a_gateway(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.toml").write_text(OFF)
    environ = environ_of(tmp_path)
    assert (await run(environ, "config", "get", "agent.max_tokens")).out == "77\n"
    assert (await run(environ, "config", "set", "agent.max_tokens", "78")).code == 0
    assert load(environ).agent.max_tokens == 78


async def test_the_page_is_told_of_its_operations_only_while_it_is_on(tmp_path: Path) -> None:
    for web, offered in (("", True), ('[plugins]\noff = ["configuration"]\n', False)):
        async with house(tmp_path / "home", web=web) as served:
            _, me = await (await served.owner()).get("/api/me")
            assert ("config set" in me["operations"]) is offered
