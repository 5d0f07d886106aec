"""Where there is no terminal: plain text, lines of JSON, and nothing loaded that draws."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from nanobot.messages import Choice, OutboundKind
from nanobot.plugins.common.control.protocol import ShowMessage
from nanobot.plugins.terminal.plain import record_message, with_choices
from tests.cli.talking import Home
from tests.doubles.terminal import in_terminal

DRAWING = ("rich", "prompt_toolkit", "markdown_it", "pygments")


def test_one_question_loads_nothing_that_draws() -> None:
    imports = "import sys, nanobot.plugins.terminal.talk"
    code = f"{imports}; sys.exit(any(m in sys.modules for m in {DRAWING}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_answer_without_a_run_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    record_message(ShowMessage("r:0", OutboundKind.REPLY, "hi"), earlier=False)
    message = ShowMessage("notice:cli:direct:k", OutboundKind.NOTICE, "Fine.")
    record_message(message, earlier=False)
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "kind": "message",
        "key": "notice:cli:direct:k",
        "why": "notice",
        "text": "Fine.",
        "choices": [],
        "earlier": False,
    }


def test_an_answer_from_before_is_one_too(capsys: pytest.CaptureFixture[str]) -> None:
    record_message(ShowMessage("r:0", OutboundKind.REPLY, "late"), earlier=True)
    assert json.loads(capsys.readouterr().out)["earlier"] is True


def test_plain_text_numbers_choices() -> None:
    choices = (Choice("this", "1"), Choice("that", "2"))
    message = ShowMessage("r:0", OutboundKind.REPLY, "Which?", choices)
    assert with_choices(message) == "Which?\n1. this\n2. that"


async def test_programs_at_a_terminal_get_events_a_line_each(home: Home) -> None:
    async with in_terminal(("agent", "--json"), home.environ(), home.folder) as terminal:
        await terminal.shows("Ctrl-D leaves.")
        terminal.type("/status\n")
        await terminal.until(lambda: '"why":"notice"' in terminal.screen.raw)
        terminal.type("say:hi\n")
        await terminal.until(lambda: '"kind":"end"' in terminal.screen.raw)
        terminal.type("quit\n")
        assert await terminal.ended() == 0
