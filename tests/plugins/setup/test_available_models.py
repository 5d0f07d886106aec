"""Set-up offers only models that would answer: not those whose plugin is switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.plugins.common.optional import lack
from nanobot.plugins.setup.models import found

pytestmark = pytest.mark.skipif(bool(lack("embedded")), reason="no embedded model")


async def offered(home: Path, *off: str) -> set[str]:
    """The providers of the models that are offered."""
    (home / "config.toml").write_text(f"[plugins]\noff = {list(off)}\n")
    environ = {
        "NANOBOT_HOME": str(home),
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }
    return {model.name.partition("/")[0] for model in await found(environ)}


@pytest.mark.parametrize("plugin", ["embedded", "anthropic"])
async def test_a_model_is_not_offered_while_its_plugin_is_off(plugin: str, tmp_path: Path) -> None:
    assert {"embedded", "anthropic"} <= await offered(tmp_path)
    assert await offered(tmp_path, plugin) & {"embedded", "anthropic"} == {
        "embedded",
        "anthropic",
    } - {plugin}


async def test_a_broken_configuration_hides_no_model(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[agent\n")
    models = await found({"NANOBOT_HOME": str(tmp_path)})
    assert "embedded" in {model.name for model in models}
