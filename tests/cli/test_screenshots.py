"""The pictures in docs/pictures can be taken again, and show what they are there for."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len

from tests.cli.screenshots import PICTURES, SCENES, drawn, script, taken
from tests.cli.talking import Home
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.terminal import in_terminal

SHOWN = {
    "conversation": ("> Plan a trip to the lake, please.", "天气", "Take the early boat."),
    "question": ("Where to?", " 2. the mountains", "waiting for your answer"),
    "approval": ("You asked for it.", " 1. Approve", "git push --force origin main"),
    "status": ("Model: openai/gpt-6-luna", "Now: idle, 0 waiting"),
    "help": ("Usage: ", "  onboard ", "explains each"),
    "sessions": ("写一首关于湖的诗", "Plan a trip."),
}


@pytest.mark.parametrize("name", SCENES)
async def test_a_picture_can_be_taken_again_and_nothing_is_scrolled_away(
    name: str, tmp_path: Path
) -> None:
    screen = await taken(name, tmp_path)
    assert len(screen.lines) <= 24
    for text in SHOWN[name]:
        assert text in screen.text
    assert max(cell_len(line) for line in screen.lines) <= 80
    svg = drawn(screen, name)
    ElementTree.fromstring(svg)
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "").replace(
        "http://127.0.0.1", ""
    ).replace("https://www.textualize.io", "")


def test_every_scene_has_its_picture_which_shows_it_and_is_shown_on_a_page() -> None:
    assert {file.stem for file in PICTURES.glob("*.svg")} == {
        *SCENES,
        "trace",  # drawn by tests.process.trace_picture
        "labels",  # drawn by tests.security.lattice
        "profile-flood",  # drawn by benchmarks.profile
    }
    pages = "".join(page.read_text("utf-8") for page in PICTURES.parent.glob("*.md"))
    for name, texts in SHOWN.items():
        svg = (PICTURES / f"{name}.svg").read_text("utf-8")
        text = unescape(re.sub(r"<[^>]+>", "", svg)).replace("\N{NO-BREAK SPACE}", " ")
        for line in texts:
            assert line.split()[0] in text, (name, line)
        assert f"pictures/{name}.svg" in pages, name


async def test_doctor_breaks_its_lines_between_words_below_each_other(tmp_path: Path) -> None:
    async with OpenAIServer(script) as model:
        home = Home(tmp_path, model, "openai/gpt-6-luna")
        async with in_terminal(("doctor",), home.environ(), tmp_path) as terminal:
            await terminal.ended()
            lines = terminal.screen.lines
        assert max(map(len, lines)) <= 80
        assert any(line.startswith(" " * 24) for line in lines)
        assert all(line[0] != " " or line.startswith(" " * 24) for line in lines if line)
        assert "\x1b[33mwarning" in terminal.screen.raw
        plain = home.environ(NO_COLOR="1")
        async with in_terminal(("doctor",), plain, tmp_path) as terminal:
            await terminal.ended()
            assert "warning" in terminal.screen.raw
            assert "\x1b[" not in terminal.screen.raw
