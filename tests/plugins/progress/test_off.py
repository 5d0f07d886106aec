"""While the plugin is off, chats show nothing of a run, and answers come whole and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.config.loader import load
from nanobot.plugins.setup.doctor.plugins import plugins
from tests.process.harness import World

CHAT = 1
ANSWER = "one two three four five six"
OFF = '[plugins]\noff = ["progress"]\n'


async def test_answers_come_whole(world: World) -> None:
    world.configure(top='plugins.off = ["progress"]')
    gateway = await world.start()
    world.telegram.say(CHAT, f"pace:0.4\nsay:{ANSWER}")
    await world.said(CHAT, ANSWER)
    assert world.telegram.native.drafts == {}
    assert world.telegram.calls_of("editMessageText") == []
    assert world.telegram.calls_of("sendChatAction") == []
    await world.rests(gateway)
    assert world.rows("SELECT state FROM outbound") == [("sent",)]


async def test_what_an_earlier_start_began_to_show_becomes_the_answer(world: World) -> None:
    """The row of a preview is the core's: it needs no plugin to be finished."""
    world.telegram.native.off = True
    gateway = await world.start()
    world.telegram.say(CHAT, f"pace:1\nsay:{ANSWER}")
    kept = "SELECT receipt FROM outbound_parts WHERE receipt IS NOT NULL"
    await world.eventually(lambda: bool(world.texts(CHAT) and world.rows(kept)))
    await gateway.kill()
    world.configure(top='plugins.off = ["progress"]')
    await world.start()
    await world.said(CHAT, ANSWER)


@pytest.mark.parametrize(("switch", "warned"), [("", False), (OFF, True)])
async def test_doctor_names_it_if_marks_are_configured(
    tmp_path: Path, switch: str, *, warned: bool
) -> None:
    channel = '[channels.telegram]\ntoken = "1:a"\nowners = ["1"]\nmarks = true\n'
    (tmp_path / "config.toml").write_text(f"{switch}{channel}")
    config = load({"NANOBOT_HOME": str(tmp_path)})
    texts = [str(each.text) async for each in plugins(config)]
    said = "channels.telegram.marks does nothing: it needs the plugin progress"
    assert (said in texts) == warned
