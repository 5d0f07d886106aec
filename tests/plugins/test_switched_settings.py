"""Keys of plugins that are switched off: people who set them are told."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from nanobot.app.bringing import unused
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from nanobot.config.plugin_tables import plugin_of, plugin_tables
from nanobot.operations.home import ChangedSettings
from nanobot.plugins.configuration.from_shell import set_key
from nanobot.plugins.configuration.operations import changed_text
from nanobot.seam.installed import installed
from tests.plugins.switching import serving


def a_key_of(table: str) -> tuple[str, str]:
    """A key with a simple value, and that value; a table of tables gets one below a name."""
    kind = plugin_tables()[table]
    below = f"{table}.x" if installed().found[plugin_of(table)].plugin.named else table
    for field in msgspec.structs.fields(kind):
        if isinstance(field.default, bool):
            return f"{below}.{field.name}", str(field.default).lower()
        if isinstance(field.default, int | float):
            return f"{below}.{field.name}", str(field.default)
    return "", ""


@pytest.mark.parametrize(
    ("key", "value", "plugin", "others"),
    [
        ("agent.recall_top_k", "7", "memory", ()),
        ("tools.exec.timeout", "9", "shell", ()),
        ("tools.web.fetch", "false", "shell", ("web_tools", "page")),
    ],
)
def test_a_key_in_a_table_of_the_core_has_no_effect_while_all_its_plugins_are_off(
    tmp_path: Path, key: str, value: str, plugin: str, others: tuple[str, ...]
) -> None:
    """And the gateway says so when it starts, of keys with another value than the default."""
    environ, said = {"NANOBOT_HOME": str(tmp_path)}, f"while the plugin {plugin} is off"
    for off in ((), (plugin,), (plugin, *others)):
        (tmp_path / "config.toml").write_text(f"[plugins]\noff = {json.dumps(off)}\n")
        nobody = {*off} == {plugin, *others}
        assert (said in set_key(environ, key, value)) is nobody
        where = ".".join(key.split(".")[:2])
        useless = f"{where} does nothing without the plugin {plugin}. "
        told = [str(finding.text) for finding in unused(load(environ))]
        assert any(text.startswith(useless) for text in told) is nobody


TABLES = sorted(table for table in plugin_tables() if a_key_of(table)[0])


@pytest.mark.parametrize("table", TABLES)
def test_without_a_gateway_a_key_of_a_plugin_that_is_off_is_written_and_named(
    tmp_path: Path, table: str
) -> None:
    plugin = plugin_of(table)
    (tmp_path / "config.toml").write_text(f'[plugins]\noff = ["{plugin}"]\n')
    key, value = a_key_of(table)
    said = set_key({"NANOBOT_HOME": str(tmp_path)}, key, value)
    assert said == (
        f"{key}: written into {tmp_path / 'config.toml'}. "
        f"It has no effect while the plugin {plugin} is off: `plugins on {plugin}`."
    )


async def set_budget(parts: Parts) -> ChangedSettings:
    change = {"key": "budgets.zone", "text": "Asia/Tokyo"}
    changed: ChangedSettings = await parts.operations.call("config set", change)
    return changed


async def test_a_gateway_says_it_too_and_not_that_it_is_in_effect(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", '[plugins]\noff = ["budgets"]\n') as parts:
        changed = await set_budget(parts)
        assert changed.off == ["budgets"]
        text = changed_text(changed)
        assert "no effect while the plugin budgets is off: `plugins on budgets`." in text
        assert "in effect now" not in text
        later = msgspec.structs.replace(changed, applied=[], restart=["budgets.zone"])
        assert "Restart" not in changed_text(later)


async def test_while_it_is_on_nothing_is_said_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path / "home") as parts:
        changed = await set_budget(parts)
        assert (changed.off, changed.applied) == ([], ["budgets.zone"])
        assert "plugin" not in changed_text(changed)
