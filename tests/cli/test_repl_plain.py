"""Where there is no terminal: plain text, lines of JSON, and nothing loaded that draws."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from nanobot.cli.chat.screen import JsonScreen, PlainScreen
from nanobot.messages import Choice, EventKind, OutboundKind, RunEvent
from nanobot.server.protocol import ShowMessage

DRAWING = ("rich", "prompt_toolkit", "markdown_it", "pygments")


def test_one_question_loads_nothing_that_draws() -> None:
    code = f"import sys, nanobot.cli.chat.talk; sys.exit(any(m in sys.modules for m in {DRAWING}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_answer_without_a_run_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    screen = JsonScreen()
    event = RunEvent(
        run_id="r",
        session_key="cli:direct",
        model_call=1,
        seq=1,
        kind=EventKind.END,
        at=0.0,
        payload={"text": "hi"},
    )
    screen.event(event)
    screen.message(ShowMessage("r:0", OutboundKind.REPLY, "hi"), earlier=False)
    screen.message(ShowMessage("notice:cli:direct:k", OutboundKind.NOTICE, "Fine."), earlier=False)
    run, notice = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert run["kind"] == "end"
    assert notice == {
        "kind": "message",
        "key": "notice:cli:direct:k",
        "why": "notice",
        "text": "Fine.",
        "choices": [],
        "earlier": False,
    }


def test_an_answer_from_before_is_one_too(capsys: pytest.CaptureFixture[str]) -> None:
    JsonScreen().message(ShowMessage("r:0", OutboundKind.REPLY, "late"), earlier=True)
    assert json.loads(capsys.readouterr().out)["earlier"] is True


def test_plain_text_numbers_choices_and_obeys_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    message = ShowMessage(
        "r:0", OutboundKind.REPLY, "Which\x1b[2J?", (Choice("this", "1"), Choice("that", "2"))
    )
    PlainScreen(streaming=False).message(message, earlier=False)
    assert capsys.readouterr().out == "Which?\n1. this\n2. that\n"
