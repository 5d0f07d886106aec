"""A picture by its path, through the command line, a real gateway and the wire to a model."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.pictures import png
from tests.process.harness import World


async def test_one_question_may_come_with_pictures(world: World, tmp_path: Path) -> None:
    picture = tmp_path / "a cat.png"
    picture.write_bytes(png())
    arguments = ("agent", "-m", "say:a cat", "--image", str(picture))
    ended = await world.run(*arguments, NANOBOT_AGENT__MODEL="test/gpt-4o")
    assert (ended.code, ended.output.strip()) == (0, "a cat")
    (body,) = world.model.requests
    text, image = body["messages"][-1]["content"]
    assert "[image a cat.png: received/" in text["text"]
    data = base64.b64encode(png()).decode()
    assert image == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


async def test_a_picture_that_is_not_there_is_an_error_that_names_it(world: World) -> None:
    ended = await world.run("agent", "-m", "look", "--image", "/nowhere/cat.png")
    assert ended.code == 2
    assert "/nowhere/cat.png cannot be read" in ended.output + ended.errors
    assert world.model.requests == []
