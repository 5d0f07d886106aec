"""What a plugin does at the start or the stop of a gateway keeps it from neither."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nanobot.app import plugin_calls
from nanobot.troubles import TROUBLES
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.plugins.switching import asked, serving

ODD = """
    import asyncio
    from nanobot.seam.plugin import Plugin

    async def odd(*_):
        {does}

    PLUGIN = Plugin(name="odd", summary="Odd.", {field}=lambda: {gives})
"""
WAYS = {
    "raises": "raise ZeroDivisionError('down we go')",
    "hangs": "await asyncio.Event().wait()",
}


@pytest.mark.parametrize("does", WAYS)
@pytest.mark.parametrize("field", ["before_channels", "ready", "draining"])
async def test_one_that_fails_is_named(
    field: str, does: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_calls, "MOMENT_SECONDS", 0.05)
    monkeypatch.setattr(plugin_calls, "MORE_SECONDS", 0.05)
    site.bring("odd", ODD.format(field=field, does=WAYS[does], gives="odd"))
    settings, channels = "drain_seconds = 0\n", field == "ready"
    async with serving(tmp_path / "home", settings, channels=channels) as parts:
        assert await asked(parts, "hello") == "completed"
        for _ in range(0 if field == "draining" else 1_000):
            if named(field):
                break
            await asyncio.sleep(0.01)
    assert named(field)


def named(field: str) -> bool:
    """Whether people are told."""
    return any(f"{field} of the plugin odd" in str(trouble) for trouble in TROUBLES.recent())


@pytest.mark.parametrize("field", ["before_channels", "ready", "draining"])
async def test_what_is_no_function_is_named(field: str, site: Site, tmp_path: Path) -> None:
    site.bring("odd", ODD.format(field=field, does="pass", gives="5"))
    async with serving(tmp_path / "home") as parts:
        assert await asked(parts, "hello") == "completed"
    assert parts.plugged.failures["odd"] == {field: "TypeError: 'int' object is not iterable"}
