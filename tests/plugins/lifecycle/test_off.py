"""A gateway whose plugin lifecycle is off starts and stops without runs; the files stay."""

from __future__ import annotations

import asyncio
from pathlib import Path

from nanobot.plugins.common.views.plugins import views_of as plugin_views
from nanobot.plugins.lifecycle.settings import LifecycleSettings
from nanobot.testing.model import ScriptedProvider
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["lifecycle"]\n\n[lifecycle]\nboot_seconds = 7\n'


def write(home: Path) -> None:
    workspace = home / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "BOOT.md").write_text("Look around.")
    (workspace / "SHUTDOWN.md").write_text("Tidy up.")


async def test_while_it_is_off_the_files_do_nothing_and_messages_are_answered(
    tmp_path: Path,
) -> None:
    home, model = tmp_path / "home", ScriptedProvider()
    write(home)
    async with serving(home, OFF, model) as parts:
        assert await asked(parts, "hello") == "completed"
        assert parts.live.config.of(LifecycleSettings).boot_seconds == 7
        (view,) = [each for each in plugin_views(parts.plugged) if each.name == "lifecycle"]
        assert (view.state, view.why) == (
            "off",
            "It is switched off: nanobot plugins on lifecycle",
        )
    assert len(model.requests) == 1
    assert (home / "workspace" / "BOOT.md").read_text() == "Look around."


async def test_switched_on_again_they_are_carried_out(tmp_path: Path) -> None:
    home, model = tmp_path / "home", ScriptedProvider()
    write(home)
    async with serving(home, OFF, model):
        pass
    async with serving(home, model=model):
        for _ in range(1_000):
            if model.requests:
                break
            await asyncio.sleep(0.01)
    told = [str(request.messages[-1].content) for request in model.requests]
    assert [text.partition(".md")[0].rpartition(" ")[2] for text in told] == ["BOOT", "SHUTDOWN"]
    assert "Look around." in told[0]
    assert "Tidy up." in told[1]
